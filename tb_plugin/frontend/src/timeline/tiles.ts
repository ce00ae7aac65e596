// Which rectangles are held for which lane, and what to ask the server for next. A lane has up to two tiles: the
// detail around the viewport, and an overview of the whole trace that is drawn where the detail does not reach.

import type { LaneSlices } from "./decode";
import { contains, intersect, overlaps, span, type Range } from "./viewport";

export interface Tile extends Range {
  nsPerPx: number; // the resolution it was asked with
  version: number; // of the lane's data
  slices: LaneSlices | null; // null: the lane is empty there
}

export interface TileRequest extends Range {
  purpose: "detail" | "overview";
  px: number;
  lanes: number[];
  version: Map<number, number>; // of each lane when asked
}

/** Lanes asked for at once: bounds the answer's size and the address' length. */
const LANES_AT_ONCE = 48;
const OVERVIEW_PX = 1000;
const COARSER = 1.3; // a tile may be this much coarser than the screen
const FINER = 4; // and this much finer, before it is fetched anew
const TOLERATED = 5; // changes of a lane's data that its overview may be behind
const OUTDATED = TOLERATED + 1;

export class TileStore {
  readonly detail = new Map<number, Tile>();
  readonly overview = new Map<number, Tile>();
  private readonly versions = new Map<number, number>();

  clear(): void {
    this.detail.clear();
    this.overview.clear();
    this.versions.clear();
  }

  /** The lane has new data: its tiles are drawn on, and fetched again. */
  touch(lane: number): void {
    this.versions.set(lane, this.version(lane) + 1);
  }

  /** Lanes without groups are to be fetched again; what is held is drawn on meanwhile. */
  needGroups(): void {
    const lacking = [...this.detail, ...this.overview].filter(([, { slices }]) => slices && !slices.groups);
    for (const lane of new Set(lacking.map(([lane]) => lane))) {
      this.versions.set(lane, this.version(lane) + OUTDATED);
    }
  }

  /** Forget a lane. */
  drop(lane: number): void {
    this.detail.delete(lane);
    this.overview.delete(lane);
  }

  version(lane: number): number {
    return this.versions.get(lane) ?? 0;
  }

  /** The most urgent request for these visible lanes, or null when what is held suffices. */
  plan(view: Range, px: number, lanes: readonly number[], whole: Range): TileRequest | null {
    const shown = intersect(view, whole);
    if (!(shown.t1 > shown.t0) || px <= 0) return null;
    const nsPerPx = span(view) / px;
    const missing = lanes.filter((lane) => !this.serves(this.detail.get(lane), lane, shown, nsPerPx));
    if (missing.length > 0) return this.request("detail", detailRange(view, whole), nsPerPx, missing);
    const without = lanes.filter((lane) => this.lacksOverview(lane, whole));
    return without.length > 0 ? this.request("overview", whole, span(whole) / OVERVIEW_PX, without) : null;
  }

  /** A growing trace outdates its overview at every poll; being a little behind is enough for the background. */
  private lacksOverview(lane: number, whole: Range): boolean {
    const tile = this.overview.get(lane);
    if (!tile) return true;
    return this.version(lane) - tile.version > TOLERATED || span(intersect(tile, whole)) < span(whole) * 0.9;
  }

  private serves(tile: Tile | undefined, lane: number, shown: Range, nsPerPx: number): boolean {
    return (
      tile !== undefined &&
      tile.version >= this.version(lane) &&
      contains(tile, shown) &&
      tile.nsPerPx <= nsPerPx * COARSER &&
      tile.nsPerPx * FINER >= nsPerPx
    );
  }

  private request(purpose: TileRequest["purpose"], range: Range, nsPerPx: number, lanes: number[]): TileRequest {
    const some = lanes.slice(0, LANES_AT_ONCE);
    return {
      purpose,
      t0: range.t0,
      t1: range.t1,
      px: Math.max(1, Math.ceil(span(range) / nsPerPx)),
      lanes: some,
      version: new Map(some.map((lane) => [lane, this.version(lane)])),
    };
  }

  /** Store an answer. One that spans the whole trace serves as overview too. */
  accept(request: TileRequest, slices: Map<number, LaneSlices>, whole: Range): void {
    const nsPerPx = span(request) / request.px;
    for (const lane of request.lanes) {
      const tile: Tile = {
        t0: request.t0,
        t1: request.t1,
        nsPerPx,
        version: request.version.get(lane) ?? 0,
        slices: slices.get(lane) ?? null,
      };
      if (request.purpose === "detail") this.detail.set(lane, tile);
      if (request.purpose === "overview" || contains(tile, whole)) this.overview.set(lane, tile);
    }
  }
}

/** Half a screen more on each side, so that small moves need no request. */
function detailRange(view: Range, whole: Range): Range {
  const more = span(view) / 2;
  const range = intersect({ t0: view.t0 - more, t1: view.t1 + more }, whole);
  return span(range) > span(whole) * 0.8 ? whole : range;
}

/** Whether an answer under way is still worth waiting for when the view has moved on. */
export function stillUseful(request: TileRequest, view: Range, px: number): boolean {
  const asked = span(request) / request.px;
  const wanted = span(view) / Math.max(px, 1);
  return overlaps(request, view) && asked < wanted * 16 && asked * 16 > wanted;
}
