// From an occurrence in a table to the same slice in the timeline.

import { navigate } from "../state";

const ROOM = 4; // of the slice's length, on each side: what is around it tells why it is there
const LEAST_NS = 2000;

/** `originNs` is what the start counts from. */
export function openSlice(originNs: string, slice: { row: number; start: number; dur: number }): void {
  const room = Math.max(slice.dur * ROOM, LEAST_NS);
  const start = BigInt(originNs) + BigInt(Math.floor(slice.start - room));
  navigate({ tab: "timeline", slice: slice.row, of: null, span: { start, fraction: 0, width: slice.dur + 2 * room } });
}
