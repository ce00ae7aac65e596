// From a step anywhere to the same step in the timeline.

import { navigate } from "../state";
import type { Steps } from "../steps";

const ROOM = 0.08; // of the step, on each side

export function openStep(steps: Steps, index: number): void {
  const width = Math.max(steps.duration[index], 1);
  const start = BigInt(steps.origin) + BigInt(Math.floor(steps.start[index] - width * ROOM));
  navigate({ tab: "timeline", slice: null, span: { start, fraction: 0, width: width * (1 + 2 * ROOM) } });
}
