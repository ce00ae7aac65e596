// What the charts over time show, as keys of the address: an interval, a chosen moment, the newest part of a live run.

import type { Span } from "../hash";

export interface TimeView {
  span: Span | null; // null: all of it
  moment: bigint | null; // Unix ns
  last: number | null; // only the newest so many seconds, moving on while data comes in
  host: string | null; // of the run as a whole: null, all hosts
  allocator: number | null; // position in the list of allocators; null: the fullest
  by: "operator" | "module" | "size";
}

export const INITIAL_TIME: TimeView = {
  span: null,
  moment: null,
  last: null,
  host: null,
  allocator: null,
  by: "operator",
};

type Get = (key: string) => string | null;

/** `prefix` tells the tabs apart; `span` reads an interval. */
export function decodeTime(get: Get, prefix: string, span: (text: string | null) => Span | null): TimeView {
  const moment = get(`${prefix}moment`);
  const by = get(`${prefix}by`);
  return {
    span: span(get(`${prefix}at`)),
    moment: moment !== null && /^\d{1,19}$/.test(moment) ? BigInt(moment) : null,
    last: whole(get(`${prefix}last`)),
    host: get(`${prefix}host`),
    allocator: whole(get(`${prefix}of`)),
    by: by === "module" || by === "size" ? by : "operator",
  };
}

export function encodeTime(view: TimeView, prefix: string): [string, string | null][] {
  const { span, moment, last, host, allocator, by } = view;
  return [
    [`${prefix}at`, span && `${span.start},${Math.round(span.width)}`],
    [`${prefix}moment`, moment === null ? null : String(moment)],
    [`${prefix}last`, last === null ? null : String(last)],
    [`${prefix}host`, host],
    [`${prefix}of`, allocator === null ? null : String(allocator)],
    [`${prefix}by`, by === "operator" ? null : by],
  ];
}

const whole = (text: string | null) => (text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null);

/** An interval relative to an origin, in ns. */
export interface TimeRange {
  t0: number;
  t1: number;
}

const LEAST_WIDTH = 1000; // ns

/** What a view shows of [all.t0, all.t1]. */
export function rangeOf(view: TimeView, originNs: string, all: TimeRange): TimeRange {
  if (view.span) {
    const t0 = Number(view.span.start - BigInt(originNs));
    return { t0, t1: t0 + Math.max(view.span.width, LEAST_WIDTH) };
  }
  const t0 = view.last === null ? all.t0 : Math.max(all.t0, all.t1 - view.last * 1e9);
  return { t0, t1: Math.max(all.t1, t0 + LEAST_WIDTH) };
}

/** An interval as the address keeps it; null where it is all there is. */
export function spanOf(range: TimeRange, originNs: string, all: TimeRange): Span | null {
  const t0 = Math.round(Math.max(range.t0, all.t0));
  const t1 = Math.round(Math.min(range.t1, all.t1));
  if (t1 <= t0 || (t0 <= all.t0 && t1 >= all.t1)) return null;
  return { start: BigInt(originNs) + BigInt(t0), fraction: 0, width: Math.max(t1 - t0, LEAST_WIDTH) };
}

/** The place of the last time that is not after `t`; -1 before the first. `times` rise. */
export function placeAt(times: readonly number[], t: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const mid = (low + high) >> 1;
    if (times[mid] <= t) low = mid + 1;
    else high = mid;
  }
  return low - 1;
}
