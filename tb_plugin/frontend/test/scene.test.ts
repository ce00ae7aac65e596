import assert from "node:assert/strict";
import { test } from "node:test";
import type { LaneInfo, LaneType } from "../src/api";
import { bandsOf, launchOnCanvas, sliceOnCanvas, TOP, type Scene } from "../src/timeline/scene";
import { buildTree, layout, middleOf } from "../src/timeline/tree";

const lane = (id: number, parent: number | null, type: LaneType, rows = 0): LaneInfo => ({
  id,
  parent,
  type,
  name: `lane ${id}`,
  rows,
  events: rows,
  busy_ns: rows,
});
const [THREAD, LAUNCHES, STREAM] = [3, 5, 6];
const LANES = [
  lane(1, null, "host"),
  lane(2, 1, "process"),
  lane(THREAD, 2, "thread", 4),
  lane(4, 2, "device"),
  lane(LAUNCHES, 4, "launches", 2),
  lane(STREAM, 4, "stream", 1),
];

function sceneWith(folded: number[]): Scene {
  const tree = buildTree(LANES);
  const none = layout(buildTree([]), new Set());
  return { tree, bands: bandsOf(none, 0, 0, layout(tree, new Set(folded)), 0, 1000) } as Scene;
}

test("a launch is in its thread, else among the host launches of the device, else near its thread", () => {
  const open = sceneWith([]);
  const shown = open.bands[1].layout.index.get(THREAD)!;
  assert.equal(launchOnCanvas(open, THREAD, 3, STREAM)?.y, TOP + middleOf(shown, 3));

  const folded = sceneWith([THREAD]);
  const launches = folded.bands[1].layout.index.get(LAUNCHES)!;
  assert.equal(launchOnCanvas(folded, THREAD, 3, STREAM)?.y, TOP + middleOf(launches, 1));

  const both = sceneWith([THREAD, 4]);
  assert.equal(launchOnCanvas(both, THREAD, 3, STREAM)?.y, sliceOnCanvas(both, THREAD, 3)?.y);
});
