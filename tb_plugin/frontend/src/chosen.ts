// Which run and worker a page shows.

import type { RunInfo, WorkerInfo } from "./api";

/** Those that the address names, else the first ones; null where there are none. */
export function chosen(
  all: readonly RunInfo[],
  runId: string | null,
  workerId: string | null,
): { run: RunInfo | null; worker: WorkerInfo | null } {
  const run = runId === null ? (all.find((r) => r.workers.length > 0) ?? all[0]) : all.find((r) => r.id === runId);
  if (!run) return { run: null, worker: null };
  const worker = workerId === null ? run.workers[0] : run.workers.find((w) => w.id === workerId);
  return { run, worker: worker ?? null };
}
