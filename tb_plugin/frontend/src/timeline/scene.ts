// What a frame of the timeline is drawn from, and its geometry.

import type { ArrowsAnswer, SearchAnswer, SliceAnswer } from "../api";
import type { Coloring } from "../hash";
import type { Theme } from "../palette";
import type { CurveStore } from "./curves";
import type { SliceHit } from "./hit";
import type { TileStore } from "./tiles";
import { middleOf, ROW_PITCH, shows, sliceY, type Layout, type LayoutRow, type Tree } from "./tree";
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
  bands: Band[]; // pinned lanes, then the scrolled ones
  range: Range;
  whole: Range;
  tree: Tree;
  steps: { id: (number | null)[]; start: number[]; end: number[] };
  tiles: TileStore;
  curves: CurveStore;
  selected: SliceAnswer | null;
  hover: SliceHit | null;
  pointerX: number | null;
  measure: Range | null;
  marked: ReadonlySet<number> | null; // lanes of the marked interval; null: all
  coloring: Coloring;
  hits: { rows: ReadonlySet<number>; names: ReadonlySet<string> } | null; // what stands out; null: nothing does
  page: SearchAnswer | null; // of hits
  flows: ArrowsAnswer | null;
}

/** A part of the canvas with lanes under each other and a scroll position of its own. */
export interface Band {
  layout: Layout;
  top: number;
  bottom: number;
  scroll: number;
}

/** Pinned lanes and scrolled ones, one above the other. */
export function bandsOf(
  pinned: Layout,
  pinScroll: number,
  pinnedHeight: number,
  rest: Layout,
  scroll: number,
  height: number,
): Band[] {
  const split = TOP + pinnedHeight;
  return [
    { layout: pinned, top: TOP, bottom: split, scroll: pinScroll },
    { layout: rest, top: split, bottom: split + height, scroll },
  ];
}

/** The y of a lane's upper edge on the canvas. */
export const laneTop = (band: Band, row: LayoutRow) => band.top + row.y - band.scroll;

interface Place {
  y: number;
  band: Band;
}

/** `depth`: "last" for the lowest row shown. */
function ownPlace(scene: Scene, lane: number, depth: number | "last"): Place | null {
  for (const band of scene.bands) {
    const row = band.layout.index.get(lane);
    if (!row) continue;
    const at = depth === "last" ? row.first + row.rows - 1 : depth;
    if (shows(row, at)) return { y: band.top + middleOf(row, at) - band.scroll, band };
  }
  return null;
}

/** Where a launch is: where its thread does not show it, among the host launches of the device that it is for. */
export function launchOnCanvas(scene: Scene, lane: number, depth: number, stream: number): Place | null {
  const own = ownPlace(scene, lane, depth);
  if (own) return own;
  for (let node = scene.tree.byId.get(stream) ?? null; node; node = node.parent) {
    const launches = node.children.find((child) => child.info.type === "launches");
    const place = launches && ownPlace(scene, launches.info.id, "last");
    if (place) return place;
  }
  return sliceOnCanvas(scene, lane, depth);
}

/** Where a slice is on the canvas: on its pinned lane if it has one, else among the others or near its parent. */
export function sliceOnCanvas(scene: Scene, lane: number, depth: number): Place | null {
  const own = ownPlace(scene, lane, depth);
  if (own) return own;
  const rest = scene.bands[scene.bands.length - 1];
  const near = sliceY(scene.tree, rest.layout, lane, depth);
  return near && { y: rest.top + near.y - rest.scroll, band: rest };
}

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
