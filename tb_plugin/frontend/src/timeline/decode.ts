// The Arrow answer of timeline/view as plain typed arrays, and its division into lanes.

import { tableFromIPC } from "@uwdata/flechette";
import { colorIndex } from "../palette";

/** What the server tells of slices where that is asked for. */
export type Grouping = "stream" | "module";
export type Groups = Record<Grouping, readonly string[]>;

/** Rectangles ordered by lane, depth, start. */
export interface ViewTable {
  length: number;
  lane: Int32Array;
  depth: Int16Array;
  start: Float64Array;
  dur: Float64Array;
  count: Int32Array;
  busy: Float64Array;
  kind: Uint8Array;
  row: Int32Array;
  name: readonly string[];
  groups: Groups | null; // null: they were not asked for
}

/** The rectangles of one lane; `rows[d] .. rows[d + 1]` are those of depth d. */
export interface LaneSlices {
  rows: Int32Array;
  start: Float64Array;
  dur: Float64Array;
  count: Int32Array;
  busy: Float64Array;
  kind: Uint8Array;
  row: Int32Array;
  name: readonly string[];
  color: Uint8Array; // index into palette.slicePalette, by kind
  groups: Groups | null;
  colored?: { mode: string; color: Uint8Array }; // by anything else, made when first drawn
}

export function decodeView(bytes: Uint8Array): ViewTable {
  const table = tableFromIPC(bytes);
  const n = table.numRows;
  const column = <T>(name: string, empty: T): T => {
    const child = table.getChild(name);
    if (!child) throw new Error(`The answer of timeline/view has no column "${name}".`);
    return n === 0 ? empty : (child.toArray() as unknown as T);
  };
  return {
    length: n,
    lane: column("lane", new Int32Array(0)),
    depth: column("depth", new Int16Array(0)),
    start: column("start", new Float64Array(0)),
    dur: column("dur", new Float64Array(0)),
    count: column("count", new Int32Array(0)),
    busy: column("busy", new Float64Array(0)),
    kind: column("kind", new Uint8Array(0)),
    row: column("row", new Int32Array(0)),
    name: column<readonly string[]>("name", []),
    groups: table.getChild("stream") && { stream: column("stream", []), module: column("module", []) },
  };
}

/** One entry for each lane that has rectangles. The arrays are views of the table's, not copies. */
export function splitLanes(table: ViewTable): Map<number, LaneSlices> {
  const lanes = new Map<number, LaneSlices>();
  const colors: Map<string, number>[] = []; // by kind: a key of both would be a new text for every rectangle
  for (let from = 0; from < table.length; ) {
    const lane = table.lane[from];
    let to = from + 1;
    while (to < table.length && table.lane[to] === lane) to += 1;
    lanes.set(lane, laneSlices(table, from, to, colors));
    from = to;
  }
  return lanes;
}

function laneSlices(table: ViewTable, from: number, to: number, colors: Map<string, number>[]): LaneSlices {
  const depths = to > from ? table.depth[to - 1] + 1 : 0;
  const rows = new Int32Array(depths + 1);
  for (let i = from; i < to; i += 1) rows[table.depth[i] + 1] += 1;
  for (let d = 0; d < depths; d += 1) rows[d + 1] += rows[d];
  const color = new Uint8Array(to - from);
  for (let i = from; i < to; i += 1) {
    const kind = table.kind[i];
    const name = table.name[i];
    const ofKind = (colors[kind] ??= new Map<string, number>());
    let index = ofKind.get(name);
    if (index === undefined) ofKind.set(name, (index = colorIndex(kind, name)));
    color[i - from] = index;
  }
  return {
    rows,
    start: table.start.subarray(from, to),
    dur: table.dur.subarray(from, to),
    count: table.count.subarray(from, to),
    busy: table.busy.subarray(from, to),
    kind: table.kind.subarray(from, to),
    row: table.row.subarray(from, to),
    name: table.name.slice(from, to),
    color,
    groups: table.groups && {
      stream: table.groups.stream.slice(from, to),
      module: table.groups.module.slice(from, to),
    },
  };
}

/** First index in [from, to) whose rectangle ends after `t`; rectangles of a depth are ordered and do not overlap. */
export function firstEndingAfter(slices: LaneSlices, from: number, to: number, t: number): number {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (slices.start[middle] + slices.dur[middle] > t) to = middle;
    else from = middle + 1;
  }
  return from;
}
