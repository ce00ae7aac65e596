// What the pages show of a run as a whole, fetched for the shown run.

import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { json } from "./api";
import { freshness, shown, STALE_MS } from "./data";
import { Resource, type Loaded } from "./resource";
import type { RunSteps, RunSummary } from "./run";

/** What a part of the page fetches of the shown run: again when it asks for something else, and when data comes in. */
export function useRun<T>(of: string, fetcher: (run: string, signal: AbortSignal) => Promise<T>): Loaded<T> {
  const resource = useMemo(() => new Resource<T>(), []);
  const run = shown.value.run?.id ?? null;
  const stamp = freshness.value;
  const asked = useRef<string | null>(null);
  useLayoutEffect(() => resource.reset(), [run]);
  useLayoutEffect(() => {
    if (run === null) return;
    const isRefresh = asked.current === of; // of another run nothing is under way any more
    asked.current = of;
    void resource.load((signal) => fetcher(run, signal), isRefresh);
  }, [of, run, stamp]);
  useEffect(() => () => resource.reset(), []);
  return resource.now.value;
}

/** The summary; while workers of it are being summed up again, asked for once more: an ended run announces nothing. */
export function useRunSummary(): Loaded<RunSummary> {
  const found = useRun("", (run, signal) => json<RunSummary>("run/summary", { run }, signal));
  useEffect(() => {
    if ((found.value?.stale ?? 0) === 0) return;
    const timer = setTimeout(() => (freshness.value += 1), STALE_MS);
    return () => clearTimeout(timer);
  }, [found]);
  return found;
}

export const useRunSteps = (of: string | null, columns: number) =>
  useRun(`${of} ${columns}`, (run, signal) => json<RunSteps>("run/steps", { run, of, columns }, signal));
