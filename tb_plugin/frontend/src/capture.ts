// Asks a running job for a deep window and follows what becomes of it (docs/capture.md).

import { signal } from "@preact/signals";
import { post } from "./api";
import { follow, type WorkerState } from "./asking";

/** Where a window is, for the link to it. */
export interface Taken {
  run: string;
  worker: string;
  start_ns: string;
  duration_ns: number;
}

export type Progress =
  | { state: "idle" }
  | { state: "waiting"; text: string }
  | { state: "done"; text: string; taken: Taken | null }
  | { state: "problem"; text: string };

const PATIENCE_MS = 180_000;

export const progress = signal<Progress>({ state: "idle" });

/** Ask for a window of so many steps; `worker` null: of all workers that are alive. */
export async function capture(run: string, worker: string | null, steps: number): Promise<void> {
  progress.value = { state: "waiting", text: "Asking the job …" };
  try {
    const asked = await post<{ request: string; workers: string[] }>("control/capture", { run, worker, steps });
    const isOver = await follow(run, asked.request, PATIENCE_MS, (said) => {
      progress.value = summed(run, said, asked.workers.length);
      return progress.value.state !== "waiting";
    });
    const text = "No window came in three minutes. Does the job still make steps?";
    if (!isOver) progress.value = { state: "problem", text };
  } catch (error) {
    progress.value = { state: "problem", text: error instanceof Error ? error.message : String(error) };
  }
}

/** All that the workers have said, as one state. */
export function summed(run: string, said: readonly WorkerState[], workers: number): Progress {
  const of = (state: WorkerState["state"]) => said.filter((s) => s.state === state);
  const final = said.length - of("accepted").length;
  const ready = workers > 1 ? ` (${of("done").length} of ${workers} workers)` : "";
  if (final < workers) {
    if (said.length === 0) return { state: "waiting", text: "Waiting for the job …" };
    return { state: "waiting", text: `Capturing …${ready}` };
  }
  const bad = said.find((s) => s.state === "refused" || s.state === "failed");
  if (bad) return { state: "problem", text: bad.detail || `The capture ${bad.state}.` };
  const first = said.find((s) => s.start_ns !== null && s.duration_ns !== null);
  const taken = first && { run, worker: first.worker, start_ns: first.start_ns!, duration_ns: first.duration_ns! };
  return { state: "done", text: `Captured from step ${said[0].first_step}${ready}`, taken: taken ?? null };
}
