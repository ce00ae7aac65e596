// What lies under the pointer.

import { firstEndingAfter, type LaneSlices } from "./decode";
import type { Band } from "./scene";
import type { Tile, TileStore } from "./tiles";
import { depthTop, ROW_PITCH, shows, visibleRows, type Layout, type LayoutRow } from "./tree";
import { span, type Range } from "./viewport";

export interface SliceHit {
  lane: number;
  depth: number;
  slices: LaneSlices;
  index: number;
}

export interface Place {
  row: LayoutRow;
  depth: number; // -1 outside the depths
}

/** The lane and depth at a height of the lanes' area (scrolled coordinates). */
export function placeAt(layout: Layout, y: number): Place | null {
  const row = visibleRows(layout, y, y + 1)[0];
  if (!row || y < row.y || y >= row.y + row.height) return null;
  const depth = row.first + Math.floor((y - depthTop(row, row.first)) / ROW_PITCH);
  return { row, depth: shows(row, depth) ? depth : -1 };
}

/** The band and the lane at a height of the canvas. */
export function placeOn(bands: readonly Band[], y: number): (Place & { band: Band }) | null {
  const band = bands.find((one) => y >= one.top && y < one.bottom);
  const place = band && placeAt(band.layout, y - band.top + band.scroll);
  return place ? { ...place, band } : null;
}

/** The rows between two heights of the canvas. */
export function rowsBetween(bands: readonly Band[], y0: number, y1: number): LayoutRow[] {
  return bands.flatMap((band) => {
    const top = Math.max(Math.min(y0, y1), band.top);
    const bottom = Math.min(Math.max(y0, y1) + 1, band.bottom);
    const by = band.scroll - band.top;
    return bottom > top ? visibleRows(band.layout, top + by, bottom + by) : [];
  });
}

/** The tile that is drawn at time `t` of a lane. */
export function tileAt(tiles: TileStore, lane: number, t: number): Tile | null {
  const detail = tiles.detail.get(lane);
  if (detail && t >= detail.t0 && t <= detail.t1) return detail;
  return tiles.overview.get(lane) ?? detail ?? null;
}

/** The rectangle at a time and depth; one narrower than a pixel can be hit within `slack` pixels of it. */
export function sliceAt(
  tiles: TileStore,
  place: Place,
  t: number,
  view: Range,
  px: number,
  slack = 2,
): SliceHit | null {
  const lane = place.row.node.info.id;
  const slices = tileAt(tiles, lane, t)?.slices;
  if (!slices || place.depth < 0 || place.depth >= slices.rows.length - 1) return null;
  const from = slices.rows[place.depth];
  const to = slices.rows[place.depth + 1];
  const reach = (span(view) / px) * slack;
  let best = -1;
  let bestGap = Infinity;
  for (let i = firstEndingAfter(slices, from, to, t - reach); i < to && slices.start[i] <= t + reach; i += 1) {
    const gap = Math.max(slices.start[i] - t, t - (slices.start[i] + slices.dur[i]), 0);
    if (gap < bestGap) {
      best = i;
      bestGap = gap;
    }
  }
  // Instants end where they start: firstEndingAfter passes those at exactly t - reach, which no pointer can tell.
  return best < 0 ? null : { lane, depth: place.depth, slices, index: best };
}
