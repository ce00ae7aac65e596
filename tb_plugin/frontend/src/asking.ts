// Asks something of a running job and follows what its workers say to it (docs/capture.md).

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { json } from "./api";

export interface WorkerState {
  worker: string;
  state: "accepted" | "done" | "refused" | "failed";
  detail: string;
  window: string | null;
  first_step: number | null;
  steps: number | null; // in the window
  start_ns: string | null;
  duration_ns: number | null;
}

const POLL_MS = 1000;

/** Whether this server lets pages ask: null until it has been asked for. */
const mayAsk = signal<boolean | null>(null);

/** Whether to offer it, where something runs that could be asked. */
export function useMayAsk(canAsk: boolean): boolean {
  useEffect(() => {
    if (canAsk && mayAsk.value === null) readToken().catch(() => undefined); // what is asked then says so
  }, [canAsk]);
  return canAsk && mayAsk.value !== false;
}

async function readToken(): Promise<void> {
  mayAsk.value = (await json<{ token: string | null }>("control/token", {})).token !== null;
}

/** Hand over what the workers have said so far until that is enough. False: it was not in so many milliseconds. */
export async function follow(
  run: string,
  request: string,
  patienceMs: number,
  isEnough: (said: readonly WorkerState[]) => boolean,
): Promise<boolean> {
  const until = Date.now() + patienceMs;
  while (Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    if (isEnough((await json<{ workers: WorkerState[] }>("control/status", { run, request })).workers)) return true;
  }
  return false;
}
