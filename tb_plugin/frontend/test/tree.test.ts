import assert from "node:assert/strict";
import { test } from "node:test";
import type { LaneInfo, LaneType } from "../src/api";
import {
  buildTree,
  COUNTER_HEIGHT,
  defaultFold,
  defaultRows,
  depthTop,
  foldedLanes,
  foldsHiding,
  HEADER_HEIGHT,
  lanePath,
  LANE_PADDING,
  layout,
  ROW_PITCH,
  shows,
  sliceY,
  visibleRows,
} from "../src/timeline/tree";

function lane(id: number, parent: number | null, type: LaneType, rows = 0): LaneInfo {
  return { id, parent, type, name: `lane ${id}`, rows, events: rows * 10, busy_ns: rows * 100 };
}

const LANES = [
  lane(1, null, "host"),
  lane(2, 1, "process"),
  lane(3, 2, "thread", 4),
  lane(4, 2, "device"),
  lane(5, 4, "stream", 1),
  lane(6, 1, "counter"),
];

test("lanes stand below their parents, each with the height of its rows", () => {
  const { rows, height } = layout(buildTree(LANES), new Set());
  const thread = 4 * ROW_PITCH + 2 * LANE_PADDING;
  assert.deepEqual(
    rows.map((row) => row.node.info.id),
    [1, 2, 3, 4, 5, 6],
  );
  assert.deepEqual(
    rows.map((row) => row.height),
    [HEADER_HEIGHT, HEADER_HEIGHT, thread, HEADER_HEIGHT, HEADER_HEIGHT, COUNTER_HEIGHT],
  );
  assert.deepEqual(
    rows.map((row) => row.node.level),
    [0, 1, 2, 2, 3, 1],
  );
  assert.equal(height, 4 * HEADER_HEIGHT + thread + COUNTER_HEIGHT);
});

test("a folded group hides its lanes, a folded thread all but its first row", () => {
  const tree = buildTree(LANES);
  assert.deepEqual(
    layout(tree, new Set([2])).rows.map((row) => row.node.info.id),
    [1, 2, 6],
  );
  const thread = layout(tree, new Set([3])).index.get(3)!;
  assert.deepEqual([thread.rows, thread.height, thread.folded], [1, HEADER_HEIGHT, true]);
});

test("deep threads show fewer rows where they would push the streams out of sight", () => {
  const tree = buildTree([
    lane(1, null, "process"),
    lane(2, 1, "thread", 30),
    lane(3, 1, "thread", 10),
    lane(4, 1, "thread", 2),
    lane(5, 1, "device"),
    { ...lane(6, 5, "launches", 8), name: "Host launches" },
    lane(7, 5, "stream", 20),
  ]);
  const stream = (room: number) => layout(tree, new Set(), defaultRows(tree, new Set(), room)).index.get(7)!.y;
  assert.deepEqual(defaultRows(tree, new Set(), 2000), new Map());
  // Threads of 16, 10 and 2 rows: 24 + 278 + 176 + 40 = 518, the device's 24 and 3 rows of launches, 57: 599, and 60.
  assert.deepEqual(defaultRows(tree, new Set(), 659), new Map([[2, 16], [6, 3]])); // prettier-ignore
  assert.equal(stream(659), 599);
  assert.deepEqual([...defaultRows(tree, new Set(), 100).values()], [4, 4, 3]); // never fewer
  assert.deepEqual(defaultRows(buildTree([lane(1, null, "thread", 90)]), new Set(), 100), new Map()); // nothing below
});

test("a lane that shows fewer rows than its stacks are deep shows those where its operators begin", () => {
  const deep = { ...lane(2, 1, "thread", 30), operators: 20 };
  const tree = buildTree([lane(1, null, "process"), deep]);
  const row = (size: number, top?: number, folded = new Set<number>()) =>
    layout(tree, folded, new Map([[2, size]]), top === undefined ? undefined : new Map([[2, top]])).index.get(2)!;
  assert.deepEqual([row(8).first, row(8).rows], [17, 8]); // three callers, then the operators
  assert.equal(row(16).first, 14); // the rows 14 up to 30: there are no more
  assert.equal(row(30).first, 0); // all
  assert.equal(row(8, 2).first, 2); // as the user wants
  assert.equal(row(8, 99).first, 22);
  assert.equal(row(8, 5, new Set([2])).first, 0); // folded: the outermost row
  assert.deepEqual([shows(row(8), 16), shows(row(8), 17), shows(row(8), 24), shows(row(8), 25)], [false, true, true, false]); // prettier-ignore
  assert.equal(depthTop(row(8), 17), HEADER_HEIGHT + LANE_PADDING);
  // An arrow to a hidden row ends at the edge that it lies behind.
  const all = layout(tree, new Set(), new Map([[2, 8]]));
  assert.deepEqual(sliceY(tree, all, 2, 3), { y: HEADER_HEIGHT + 6, exact: false });
  assert.deepEqual(sliceY(tree, all, 2, 28), { y: all.height - 6, exact: false });
});

test("a lane with an unknown parent is shown as a root", () => {
  const tree = buildTree([lane(9, 77, "thread", 1)]);
  assert.equal(tree.roots.length, 1);
});

test("only the rows in view are drawn", () => {
  const all = layout(buildTree(LANES), new Set());
  assert.deepEqual(
    visibleRows(all, 0, 30).map((row) => row.node.info.id),
    [1, 2],
  );
  assert.deepEqual(
    visibleRows(all, 50, 60).map((row) => row.node.info.id),
    [3],
  );
  assert.deepEqual(visibleRows(all, all.height, all.height + 100), []);
});

test("an arrow ends at the slice, or at the nearest lane above it that shows", () => {
  const tree = buildTree(LANES);
  const open = layout(tree, new Set());
  const thread = open.index.get(3)!;
  assert.deepEqual(sliceY(tree, open, 3, 1), {
    y: thread.y + LANE_PADDING + ROW_PITCH + (ROW_PITCH - 1) / 2,
    exact: true,
  });
  const folded = layout(tree, new Set([4]));
  const device = folded.index.get(4)!;
  assert.deepEqual(sliceY(tree, folded, 5, 0), { y: device.y + device.height - 6, exact: false });
  assert.equal(sliceY(tree, open, 99, 0), null);
});

test("what must unfold for a slice to show", () => {
  const tree = buildTree(LANES);
  assert.deepEqual(foldsHiding(tree, new Set([2, 3]), 3, 2), [3, 2]);
  assert.deepEqual(foldsHiding(tree, new Set([3]), 3, 0), []);
});

test("the user's folding is told as the difference to the default", () => {
  assert.deepEqual([...foldedLanes(new Set([1, 2]), [2, 5])], [1, 5]);
});

test("many cores fold by default; a tall process keeps its two busiest threads open", () => {
  const cores = [
    lane(1, null, "host"),
    lane(2, 1, "group"),
    lane(3, 2, "group"),
    ...Array.from({ length: 16 }, (_, i) => lane(10 + i, 3, "counter")),
  ];
  assert.deepEqual([...defaultFold(buildTree(cores), 900)], [3]);
  const threads = [lane(1, null, "process"), ...Array.from({ length: 6 }, (_, i) => lane(10 + i, 1, "thread", 20 + i))];
  assert.deepEqual([...defaultFold(buildTree(threads), 900)].sort(), [10, 11, 12, 13]);
  assert.equal(defaultFold(buildTree(LANES), 900).size, 0);
});

test("the path of a lane", () => {
  assert.equal(lanePath(buildTree(LANES), 5), "lane 1 / lane 2 / lane 4 / lane 5");
});
