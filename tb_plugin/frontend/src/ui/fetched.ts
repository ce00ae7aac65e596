// What a part of a page fetches for itself: again when what it asks for changes, and when new data has come in.

import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { WorkerKey } from "../api";
import { freshness, key } from "../data";
import { Resource, type Loaded } from "../resource";
import { kept } from "./kept";

/**
 * `of` says in words what is asked for: another text, another request, and no two parts of the page say the same of
 * different things. What was there stays while the next answer loads, and is kept for when it is asked for again; where
 * `fresh` neither, since it would be taken for an answer to the new question, or depends on more than the shown worker.
 * It is asked for at once, not after the frame that shows that it is missing.
 */
export function useFetched<T>(
  of: string,
  fetcher: (key: WorkerKey, signal: AbortSignal) => Promise<T>,
  fresh = false,
): Loaded<T> {
  const at = key.value;
  const stamp = freshness.value;
  const known = at && !fresh ? kept.get<T>(at, stamp, of) : undefined;
  const resource = useMemo(() => new Resource<T>(known), []);
  useLayoutEffect(() => {
    if (fresh) resource.reset();
  }, [of, at]);
  const asked = useRef<unknown[]>([]);
  useLayoutEffect(() => {
    if (!at) return;
    const isRefresh = asked.current[0] === of && asked.current[1] === at;
    asked.current = [of, at];
    if (known !== undefined) return resource.show(known);
    void resource.load(async (signal) => {
      const answer = await fetcher(at, signal);
      if (!fresh && !signal.aborted && stamp === freshness.peek()) kept.set(at, stamp, of, answer);
      return answer;
    }, isRefresh);
  }, [of, at, stamp]);
  useEffect(() => () => resource.reset(), []);
  return resource.now.value;
}
