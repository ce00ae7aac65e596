// Runs and their workers as choices of a picker.

import type { RunInfo, WorkerInfo } from "../api";
import { plural } from "../format";
import { isolated } from "../timeline/text";
import type { Choice } from "./picker";

export function runChoice(run: RunInfo): Choice {
  const detail = run.error ? "cannot be read" : plural(run.workers.length, "worker");
  return { id: run.id, label: run.name || "(unnamed)", detail, live: run.live, warn: Boolean(run.error) };
}

/** What tells workers of a run apart: the rank where there is one, the host, the process. */
export function workerLabel(worker: Pick<WorkerInfo, "id" | "rank" | "pid">): string {
  if (worker.rank !== null) return `Rank ${worker.rank}`;
  return worker.pid !== null ? `Process ${worker.pid}` : worker.id;
}

export function workerChoice(worker: WorkerInfo): Choice {
  const detail = [
    worker.host && isolated(worker.host),
    worker.pid !== null && worker.rank !== null ? `pid ${worker.pid}` : null,
  ];
  return { id: worker.id, label: workerLabel(worker), detail: detail.filter(Boolean).join(" · "), live: worker.live };
}

/** By rank. */
export const workerOrder = (run: RunInfo | null): WorkerInfo[] =>
  [...(run?.workers ?? [])].sort((a, b) => (a.rank ?? Infinity) - (b.rank ?? Infinity) || 0);
