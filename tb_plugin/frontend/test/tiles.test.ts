import assert from "node:assert/strict";
import { test } from "node:test";
import { dictionary, float64, int16, int32, tableFromArrays, tableToIPC, uint8, utf8 } from "@uwdata/flechette";
import { decodeView, firstEndingAfter, splitLanes, type LaneSlices } from "../src/timeline/decode";
import { placeAt, sliceAt } from "../src/timeline/hit";
import { stillUseful, TileStore } from "../src/timeline/tiles";
import { buildTree, layout } from "../src/timeline/tree";

interface Rect {
  lane: number;
  depth: number;
  start: number;
  dur: number;
  count?: number;
  name?: string;
}

/** An answer of timeline/view as the server would send it. */
function answer(rects: Rect[], stream?: string): Uint8Array {
  const table = tableFromArrays(
    {
      lane: rects.map((r) => r.lane),
      depth: rects.map((r) => r.depth),
      start: rects.map((r) => r.start),
      dur: rects.map((r) => r.dur),
      count: rects.map((r) => r.count ?? 1),
      busy: rects.map((r) => r.dur / 2),
      name: rects.map((r) => r.name ?? "n"),
      kind: rects.map(() => 8),
      row: rects.map((_, i) => i),
      ...(stream && { stream: rects.map(() => stream), module: rects.map(() => "") }),
    },
    {
      types: {
        lane: int32(),
        depth: int16(),
        start: float64(),
        dur: float64(),
        count: int32(),
        busy: float64(),
        name: dictionary(utf8(), int32()),
        kind: uint8(),
        row: int32(),
        ...(stream && { stream: dictionary(utf8(), int32()), module: dictionary(utf8(), int32()) }),
      },
    },
  );
  return tableToIPC(table, { format: "stream" }) as Uint8Array;
}

function lanesOf(rects: Rect[]): Map<number, LaneSlices> {
  return splitLanes(decodeView(answer(rects)));
}

const WHOLE = { t0: 0, t1: 1_000_000 };

test("an answer is divided by lane and depth", () => {
  const lanes = lanesOf([
    { lane: 3, depth: 0, start: 0, dur: 100 },
    { lane: 3, depth: 2, start: 10, dur: 5, name: "inner" },
    { lane: 3, depth: 2, start: 20, dur: 5 },
    { lane: 7, depth: 0, start: 50, dur: 1, count: 9 },
  ]);
  assert.deepEqual([...lanes.keys()], [3, 7]);
  assert.deepEqual([...lanes.get(3)!.rows], [0, 1, 1, 3]);
  assert.equal(lanes.get(3)!.name[1], "inner");
  assert.equal(lanes.get(7)!.count[0], 9);
  assert.equal(lanes.get(7)!.row[0], 3);
});

test("an answer without rectangles has no lanes", () => {
  const empty = decodeView(answer([]));
  assert.equal(empty.length, 0);
  assert.equal(splitLanes(empty).size, 0);
});

test("the first rectangle that ends after a time", () => {
  const slices = lanesOf([0, 10, 20, 30].map((start) => ({ lane: 1, depth: 0, start, dur: 5 }))).get(1)!;
  assert.equal(firstEndingAfter(slices, 0, 4, -1), 0);
  assert.equal(firstEndingAfter(slices, 0, 4, 5), 1);
  assert.equal(firstEndingAfter(slices, 0, 4, 22), 2);
  assert.equal(firstEndingAfter(slices, 0, 4, 35), 4);
});

test("a viewport is fetched with a margin, then not again while it moves within", () => {
  const tiles = new TileStore();
  const view = { t0: 400_000, t1: 500_000 };
  const plan = tiles.plan(view, 1000, [1, 2], WHOLE)!;
  assert.equal(plan.purpose, "detail");
  assert.deepEqual([plan.t0, plan.t1, plan.px, plan.lanes], [350_000, 550_000, 2000, [1, 2]]);
  tiles.accept(plan, new Map(), WHOLE);
  const next = tiles.plan({ t0: 440_000, t1: 540_000 }, 1000, [1, 2], WHOLE)!;
  assert.equal(next.purpose, "overview");
  tiles.accept(next, new Map(), WHOLE);
  assert.equal(tiles.plan({ t0: 440_000, t1: 540_000 }, 1000, [1, 2], WHOLE), null);
  assert.equal(tiles.plan({ t0: 460_000, t1: 560_000 }, 1000, [1, 2], WHOLE)!.purpose, "detail");
});

test("the whole trace serves as overview too, and is not fetched twice", () => {
  const tiles = new TileStore();
  const plan = tiles.plan(WHOLE, 1200, [1], WHOLE)!;
  assert.deepEqual([plan.t0, plan.t1, plan.px], [0, 1_000_000, 1200]);
  tiles.accept(plan, new Map(), WHOLE);
  assert.equal(tiles.plan(WHOLE, 1200, [1], WHOLE), null);
});

test("zooming in needs a finer tile, zooming far out a coarser one", () => {
  const tiles = new TileStore();
  tiles.accept(tiles.plan(WHOLE, 1000, [1], WHOLE)!, new Map(), WHOLE);
  assert.equal(tiles.plan({ t0: 0, t1: 900_000 }, 1000, [1], WHOLE), null);
  const close = { t0: 100_000, t1: 110_000 };
  const plan = tiles.plan(close, 1000, [1], WHOLE)!;
  assert.equal((plan.t1 - plan.t0) / plan.px, 10);
  tiles.accept(plan, new Map(), WHOLE);
  assert.equal(tiles.plan(close, 1000, [1], WHOLE), null);
  assert.equal(tiles.plan(WHOLE, 1000, [1], WHOLE)!.purpose, "detail");
});

test("only lanes that lack a tile are asked for, at most 48 at once", () => {
  const tiles = new TileStore();
  const lanes = Array.from({ length: 60 }, (_, i) => i);
  const first = tiles.plan(WHOLE, 1000, lanes, WHOLE)!;
  assert.equal(first.lanes.length, 48);
  tiles.accept(first, new Map(), WHOLE);
  assert.deepEqual(tiles.plan(WHOLE, 1000, lanes, WHOLE)!.lanes, lanes.slice(48));
});

test("new data makes a lane stale, what is held stays drawable", () => {
  const tiles = new TileStore();
  tiles.accept(tiles.plan(WHOLE, 1000, [1, 2], WHOLE)!, new Map(), WHOLE);
  tiles.touch(2);
  assert.ok(tiles.detail.get(2));
  assert.deepEqual(tiles.plan(WHOLE, 1000, [1, 2], WHOLE)!.lanes, [2]);
});

test("data that comes while a request is under way is not lost", () => {
  const tiles = new TileStore();
  const plan = tiles.plan(WHOLE, 1000, [1], WHOLE)!;
  tiles.touch(1);
  tiles.accept(plan, new Map(), WHOLE);
  assert.deepEqual(tiles.plan(WHOLE, 1000, [1], WHOLE)!.lanes, [1]);
});

test("a view outside the trace asks for nothing", () => {
  assert.equal(new TileStore().plan({ t0: 2e6, t1: 3e6 }, 1000, [1], WHOLE), null);
});

test("an answer under way is given up only when the view is elsewhere", () => {
  const plan = new TileStore().plan({ t0: 400_000, t1: 500_000 }, 1000, [1], WHOLE)!;
  assert.ok(stillUseful(plan, { t0: 420_000, t1: 470_000 }, 1000));
  assert.ok(!stillUseful(plan, { t0: 700_000, t1: 800_000 }, 1000));
  assert.ok(!stillUseful(plan, { t0: 450_000, t1: 450_100 }, 1000));
});

test("the pointer finds the slice under it, and narrow ones nearby", () => {
  const tree = buildTree([{ id: 1, parent: null, type: "thread", name: "t", rows: 2, events: 3, busy_ns: null }]);
  const shape = layout(tree, new Set());
  const tiles = new TileStore();
  const rects = [
    { lane: 1, depth: 0, start: 0, dur: 500_000 },
    { lane: 1, depth: 1, start: 100_000, dur: 10 },
    { lane: 1, depth: 1, start: 200_000, dur: 50_000 },
  ];
  tiles.accept(tiles.plan(WHOLE, 1000, [1], WHOLE)!, lanesOf(rects), WHOLE);
  const at = (t: number, y: number) => {
    const place = placeAt(shape, y);
    return place && sliceAt(tiles, place, t, WHOLE, 1000)?.index;
  };
  assert.equal(at(300_000, 5), 0);
  assert.equal(at(600_000, 5), undefined);
  assert.equal(at(220_000, 22), 2);
  assert.equal(at(101_500, 22), 1);
  assert.equal(at(105_000, 22), undefined);
  assert.equal(placeAt(shape, 500), null);
});

test("lanes whose slices came without groups are fetched again for them", () => {
  const tiles = new TileStore();
  const view = { t0: 0, t1: 1000 };
  const lanes = (stream?: string) =>
    splitLanes(decodeView(answer([{ lane: 1, depth: 0, start: 0, dur: 100 }], stream)));
  const first = tiles.plan(view, 100, [1, 2], view);
  assert.ok(first);
  tiles.accept(first, lanes(), view);
  assert.equal(tiles.plan(view, 100, [1, 2], view), null);
  tiles.needGroups();
  const again = tiles.plan(view, 100, [1, 2], view);
  assert.deepEqual(again?.lanes, [1]); // the other one is empty
  tiles.accept(again, lanes("GPU 0 stream 7"), view);
  assert.deepEqual(tiles.detail.get(1)?.slices?.groups, { stream: ["GPU 0 stream 7"], module: [""] });
  tiles.needGroups();
  assert.equal(tiles.plan(view, 100, [1, 2], view), null);
});
