// From a finding to the place in the timeline where its evidence can be seen.

import { findByName, getSlice, type Place, type WorkerKey } from "../api";
import { here } from "../here";
import { answered } from "../resource";
import { navigate } from "../state";
import { openStep } from "./open-step";

const ROOM = 4; // a slice is shown with so many times its own length around it

/** Open the timeline at a place, unless the user goes elsewhere before it is found. Resolves to a sentence where it is
 * not in the recorded windows. */
export async function openPlace(key: WorkerKey, originNs: string, place: Place): Promise<string | null> {
  if (place.start_ns !== null) {
    openStep(originNs, { start: [place.start_ns], duration: [place.duration_ns ?? 0] }, 0);
    return null;
  }
  const isStillHere = here();
  const { rows } = await answered(() => findByName(key, place.name));
  if (rows.length === 0) return `No ${place.what} of this name is in the recorded windows.`;
  const row = rows[Math.floor(rows.length / 2)]; // the first one may be of a warm-up
  const { origin_ns, start, dur } = await answered(() => getSlice(key, row));
  if (!isStillHere()) return null;
  const width = Math.max(dur, 1) * (1 + 2 * ROOM);
  const from = BigInt(origin_ns) + BigInt(Math.floor(start - Math.max(dur, 1) * ROOM));
  const span = { start: from, fraction: 0, width };
  navigate({ tab: "timeline", slice: row, of: null, span, find: place.name, rules: "e" });
  return null;
}
