// What a part of a page fetches for itself: again when what it asks for changes, and when new data has come in.

import { useEffect, useMemo } from "preact/hooks";
import type { WorkerKey } from "../api";
import { freshness, key } from "../data";
import { Resource, type Loaded } from "../resource";

/**
 * `of` says in words what is asked for: another text, another request. What was there stays while the next one loads;
 * where `fresh` it does not, since it would be taken for an answer to the new question.
 */
export function useFetched<T>(
  of: string,
  fetcher: (key: WorkerKey, signal: AbortSignal) => Promise<T>,
  fresh = false,
): Loaded<T> {
  const resource = useMemo(() => new Resource<T>(), []);
  const at = key.value;
  const stamp = freshness.value;
  useEffect(() => {
    if (fresh) resource.reset();
  }, [of, at]);
  useEffect(() => {
    if (at) void resource.load((signal) => fetcher(at, signal));
  }, [of, at, stamp]);
  useEffect(() => () => resource.reset(), []);
  return resource.now.value;
}
