import assert from "node:assert/strict";
import { test } from "node:test";
import type { LaneInfo, LaneType } from "../src/api";
import { arrange, isMore, moreId, withMove, type Wishes } from "../src/timeline/arrange";
import { buildTree, heightOf, layout, rowsIn, stack, HEADER_HEIGHT } from "../src/timeline/tree";

function lane(id: number, parent: number | null, type: LaneType, busy: number, name = `lane ${id}`): LaneInfo {
  return { id, parent, type, name, rows: type === "thread" || type === "stream" ? 3 : 0, events: 5, busy_ns: busy };
}

const LANES = [
  lane(1, null, "host", 0),
  lane(2, 1, "process", 0, "rank 0"),
  lane(3, 2, "thread", 1_000_000, "main"),
  lane(4, 2, "thread", 500, "watch"),
  lane(5, 2, "thread", 999, "log"),
  lane(6, 2, "thread", 1000, "loader"),
  lane(7, 2, "device", 0, "GPU 0"),
  lane(8, 7, "stream", 10, "stream 7"),
];

const NONE: Wishes = { moves: [], filter: "", idle: false, keep: new Set() };

function shown(wishes: Partial<Wishes>, lanes = LANES): number[] {
  const { tree } = arrange(buildTree(lanes), { ...NONE, ...wishes });
  return layout(tree, new Set()).rows.map((row) => row.node.info.id);
}

test("threads busy for less than a thousandth of the busiest are one row with their number, before the devices", () => {
  const { tree, hidden } = arrange(buildTree(LANES), NONE);
  assert.equal(hidden, 2);
  assert.deepEqual(shown({}), [1, 2, 3, 6, moreId(2), 7, 8]);
  const more = tree.byId.get(moreId(2))!;
  assert.ok(isMore(more.info));
  assert.equal(more.info.name, "2 idle threads");
});

test("idle threads show when wished for, and where something led to one", () => {
  assert.deepEqual(shown({ idle: true }), [1, 2, 3, 4, 5, 6, 7, 8]);
  // One left to hide would save no row.
  assert.deepEqual(shown({ keep: new Set([4]) }), [1, 2, 3, 4, 5, 6, 7, 8]);
});

test("a filter keeps lanes with all its words in their path, and what they hang from", () => {
  assert.deepEqual(shown({ filter: "STREAM gpu" }), [1, 2, 7, 8]);
  assert.deepEqual(shown({ filter: "log" }), [1, 2, 5]); // idle, but asked for
  assert.deepEqual(shown({ filter: "nothing such" }), []);
  assert.equal(arrange(buildTree(LANES), { ...NONE, filter: "rank" }).matches, 7);
});

test("lanes move among those beside them only", () => {
  assert.deepEqual(shown({ moves: [[7, 3]] }).slice(0, 4), [1, 2, 7, 8]);
  assert.deepEqual(shown({ moves: [[3, 0]], idle: true }), [1, 2, 4, 5, 6, 7, 8, 3]);
  assert.deepEqual(shown({ moves: [[3, 8]], idle: true }), [1, 2, 3, 4, 5, 6, 7, 8]); // 8 is elsewhere
  assert.deepEqual(shown({ moves: [[99, 3]], idle: true }), [1, 2, 3, 4, 5, 6, 7, 8]);
});

test("a later move of a lane takes the place of an earlier one", () => {
  assert.deepEqual(
    withMove(
      [
        [3, 4],
        [5, 3],
      ],
      3,
      0,
    ),
    [
      [5, 3],
      [3, 0],
    ],
  );
});

test("a resized lane shows so many of its rows, and never more than it has", () => {
  const tree = buildTree(LANES);
  const all = layout(tree, new Set()).index;
  const sized = layout(tree, new Set(), new Map([[3, 2], [6, 50]])).index; // prettier-ignore
  assert.equal(all.get(3)!.rows, 3);
  assert.deepEqual([sized.get(3)!.rows, sized.get(3)!.height], [2, heightOf(2)]);
  assert.equal(sized.get(6)!.rows, 3);
  assert.equal(rowsIn(heightOf(7)), 7);
});

test("pinned lanes stand under each other without their children", () => {
  const tree = buildTree(LANES);
  const { rows, height } = stack([tree.byId.get(8)!, tree.byId.get(7)!], new Set());
  assert.deepEqual(
    rows.map((row) => row.y),
    [0, heightOf(3)],
  );
  assert.equal(height, heightOf(3) + HEADER_HEIGHT);
});

test("twenty thousand lanes are laid out at once", () => {
  const many = [...LANES, ...Array.from({ length: 20_000 }, (_, i) => lane(100 + i, 2, "thread", 2000 + i))];
  const { rows, height } = layout(arrange(buildTree(many), NONE).tree, new Set());
  assert.equal(rows.length, 20_007);
  assert.ok(height < 33_000_000); // browsers cut higher elements
});
