// Asks a running job for a deep window and follows what becomes of it (docs/capture.md).

import { signal } from "@preact/signals";
import { post } from "./api";
import { follow, type WorkerState } from "./asking";
import { plural } from "./format";

/** Where a window is, for the link to it. */
export interface Taken {
  run: string;
  worker: string;
  start_ns: string;
  duration_ns: number;
}

/** `lines`: what differs from worker to worker; `last`: the step with which the window is taken and only to be read. */
export type Progress =
  | { state: "idle" }
  | { state: "waiting"; text: string; last: number | null }
  | { state: "done" | "problem"; text: string; lines: string[]; taken: Taken | null };

/** A worker that was to be asked, as the page calls it. */
export interface Asked {
  id: string;
  label: string;
}

const PATIENCE_MS = 180_000;
const MOST_LABELS = 8; // in a line
const NO_ANSWER = "no window in three minutes";

export const progress = signal<Progress>({ state: "idle" });

/** Ask for a window of so many steps in these workers; `worker` null: of all workers that are alive. */
export async function capture(run: string, worker: string | null, steps: number, of: readonly Asked[]): Promise<void> {
  progress.value = { state: "waiting", text: "Asking the job …", last: null };
  try {
    const asked = await post<{ workers: string[]; request: string }>("control/capture", { run, worker, steps });
    let latest: readonly WorkerState[] = [];
    const isOver = await follow(run, asked.request, PATIENCE_MS, (said) => {
      latest = said;
      progress.value = summed(run, said, asked.workers, of, steps, false);
      return progress.value.state !== "waiting";
    });
    if (!isOver) progress.value = summed(run, latest, asked.workers, of, steps, true);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    progress.value = { state: "problem", text, lines: [], taken: null };
  }
}

/**
 * All that the workers have said, as one state.
 *
 * @param asked ids of those that the request names
 * @param of those that it was meant for: some may have ended before it was made
 * @param steps that were asked for
 * @param isOver whether to wait for no further word
 */
export function summed(
  run: string,
  said: readonly WorkerState[],
  asked: readonly string[],
  of: readonly Asked[],
  steps: number,
  isOver: boolean,
): Progress {
  const done = said.filter((s) => s.state === "done");
  if (!isOver && said.length - said.filter((s) => s.state === "accepted").length < asked.length) {
    if (said.length === 0) return { state: "waiting", text: "Waiting for the job …", last: null };
    const ready = asked.length > 1 ? ` (${done.length} of ${asked.length} workers)` : "";
    const begins = Math.max(...said.map((s) => s.first_step ?? -1));
    return { state: "waiting", text: `Capturing …${ready}`, last: begins < 0 ? null : begins + steps - 1 };
  }
  const first = said.find((s) => s.start_ns !== null && s.duration_ns !== null);
  const place = first && { run, worker: first.worker, start_ns: first.start_ns!, duration_ns: first.duration_ns! };
  const taken = place ?? null;
  const meant = [...of, ...asked.filter((id) => !of.some((w) => w.id === id)).map((id) => ({ id, label: id }))];
  const became = new Map(meant.map(({ id }) => [id, outcome(id, asked, said)]));
  const lines = grouped(meant, became);
  if (done.length < meant.length) {
    const [text] = became.values();
    if (meant.length === 1) return { state: "problem", text: sentence(text), lines: [], taken };
    const missing = meant.length - done.length;
    return { state: "problem", text: `No window in ${missing} of ${plural(meant.length, "worker")}.`, lines, taken };
  }
  if (lines.length > 1) return { state: "done", text: "Captured, but not the same steps in all workers", lines, taken };
  const all = meant.length > 1 ? ` in ${meant.length} workers` : "";
  return { state: "done", text: `Captured ${stepsOf(done[0])}${all}`, lines: note(done[0]), taken };
}

function outcome(id: string, asked: readonly string[], said: readonly WorkerState[]): string {
  if (!asked.includes(id)) return "not asked, since it does not run any more";
  const one = said.find((s) => s.worker === id);
  if (!one || one.state === "accepted") return NO_ANSWER;
  return one.state === "done" ? [stepsOf(one), ...note(one)].join(". ") : one.detail || `the capture ${one.state}`;
}

const note = ({ detail }: WorkerState): string[] => (detail ? [detail] : []);

function stepsOf({ first_step, steps }: WorkerState): string {
  if (first_step === null) return "a window";
  if (steps === null) return `from step ${first_step}`; // a worker of an older version
  return steps > 1 ? `steps ${first_step} to ${first_step + steps - 1}` : `step ${first_step}`;
}

function sentence(text: string): string {
  return text === NO_ANSWER ? "No window came in three minutes. Does the job still make steps?" : text;
}

/** One line for all workers of which the same is to be told. */
function grouped(of: readonly Asked[], became: ReadonlyMap<string, string>): string[] {
  const lines = new Map<string, string[]>();
  for (const { id, label } of of) {
    const text = became.get(id)!;
    lines.set(text, [...(lines.get(text) ?? []), label]);
  }
  return [...lines].map(([text, labels]) => {
    const more = labels.length - MOST_LABELS;
    const listed = labels.slice(0, MOST_LABELS).join(", ") + (more > 0 ? ` and ${more} more` : "");
    return `${listed}: ${text}`;
  });
}
