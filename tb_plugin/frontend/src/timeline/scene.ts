// What a frame of the timeline is drawn from, and its geometry.

import type { SliceAnswer } from "../api";
import type { Theme } from "../palette";
import type { CurveStore } from "./curves";
import type { SliceHit } from "./hit";
import type { TileStore } from "./tiles";
import { ROW_PITCH, type Layout, type LayoutRow, type Tree } from "./tree";
import { span, type Range } from "./viewport";

export const RULER_HEIGHT = 24;
export const STEPS_HEIGHT = 18;
/** Where the lanes begin. */
export const TOP = RULER_HEIGHT + STEPS_HEIGHT;
export const SLICE_HEIGHT = ROW_PITCH - 1;

/** Everything a frame is drawn from. */
export interface Scene {
  theme: Theme;
  width: number;
  height: number;
  scroll: number;
  range: Range;
  whole: Range;
  tree: Tree;
  layout: Layout;
  steps: { id: (number | null)[]; start: number[]; end: number[] };
  tiles: TileStore;
  curves: CurveStore;
  selected: SliceAnswer | null;
  hover: SliceHit | null;
  pointerX: number | null;
  measure: Range | null;
}

/** The y of a lane's upper edge on the canvas. */
export const laneTop = (scene: Scene, row: LayoutRow) => TOP + row.y - scene.scroll;

/** Time to pixels. */
export function xOf(t: number, range: Range, width: number): number {
  return ((t - range.t0) / span(range)) * width;
}

/** First index whose value is not below `t`. */
export function lowerBound(values: readonly number[], t: number): number {
  let from = 0;
  let to = values.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (values[middle] < t) from = middle + 1;
    else to = middle;
  }
  return from;
}
