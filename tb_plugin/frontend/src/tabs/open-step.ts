// From a step anywhere to the same step in the timeline.

import { navigate } from "../state";

const ROOM = 0.08; // of the step, on each side

/** `originNs` is what the starts count from; `slice`: a row of the timeline to select. */
export function openStep(
  originNs: string,
  steps: { start: readonly number[]; duration: readonly number[] },
  index: number,
  slice: number | null = null,
): void {
  const width = Math.max(steps.duration[index], 1);
  const start = BigInt(originNs) + BigInt(Math.floor(steps.start[index] - width * ROOM));
  navigate({ tab: "timeline", slice, of: null, span: { start, fraction: 0, width: width * (1 + 2 * ROOM) } });
}
