// Whether a job runs, how it ended and how old its newest data is, in a few words.

import type { WorkerInfo, WorkerState } from "./api";
import { ago, calendar } from "./format";

type Standing = Pick<WorkerInfo, "source" | "state">;

/** How recordings end, those first that a reader must know of. */
const ENDS: readonly [WorkerState, string][] = [
  ["killed", "killed, last data"],
  ["failed", "failed"],
  ["hung", "hangs, last data"],
  ["lost", "no end told, last data"],
  ["stopped", "recording stopped"],
  ["finished", "finished"],
];

/** "live, last data 2 s ago", "killed, last data 3 min ago", "finished 5 min ago", "file of 2026-03-07". */
export function freshnessText(worker: Standing, isLive: boolean, atMs: number | null, nowMs: number): string {
  const when = atMs === null ? "" : ago(nowMs - atMs);
  if (worker.source === "file") return atMs === null ? "file" : `file of ${calendar(atMs).slice(0, 10)}`;
  if (isLive) return `live${when && `, last data ${when}`}`;
  const word = worker.source === "import" ? "imported" : (ENDS.find(([of]) => of === worker.state)?.[1] ?? "last data");
  return when ? `${word} ${when}` : word.replace(", last data", "");
}

/** The worker of a run that stands for all: one that did not end well, if there is one. */
export function ofRun<T extends Standing>(workers: readonly T[]): T | null {
  const rank = ({ state }: T) => {
    const at = ENDS.findIndex(([of]) => of === state);
    return at < 0 ? ENDS.length : at;
  };
  return [...workers].sort((a, b) => rank(a) - rank(b))[0] ?? null;
}
