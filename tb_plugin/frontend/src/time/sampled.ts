// How often a monitor sampled, in words.

import { duration } from "../format";
import type { ResourceCurves } from "./requests";

/** Whole seconds as such. */
export const every = (ms: number) => `every ${ms % 1000 === 0 ? `${ms / 1000} s` : duration(ms * 1e6)}`;
/** Samples are never on time to the millisecond; the intervals that can be chosen are at least twice apart. */
export const isSame = (a: number, b: number) => Math.max(a, b) < 1.4 * Math.min(a, b);

/** By the samples themselves: what the monitor does, whatever it was told. */
export function sampledText(
  { interval_ms: usual, latest_interval_ms: latest }: Pick<ResourceCurves, "interval_ms" | "latest_interval_ms">,
  live: boolean,
): string {
  if (usual === null) return "";
  if (latest === null || isSame(usual, latest)) return `sampled ${every(usual)}`;
  return `sampled ${every(latest)} ${live ? "now" : "at the end"}, mostly ${every(usual)}`;
}
