// Arithmetic of the visible time range. Times are ns relative to the worker's origin; nothing here knows of pixels
// except as a width to divide by.

export interface Range {
  t0: number;
  t1: number;
}

/** The closest zoom: 20 ns across the view. Traces have 1 ns resolution. */
export const MIN_SPAN = 20;

export const span = (r: Range) => r.t1 - r.t0;

/** Keep a range inside the bounds as far as its width allows; a range wider than the bounds is centred on them. */
export function clamp(range: Range, bounds: Range): Range {
  const most = Math.max(span(bounds) * 1.05, MIN_SPAN);
  const width = Math.min(Math.max(span(range), MIN_SPAN), most);
  let t0 = (range.t0 + range.t1 - width) / 2;
  if (width >= span(bounds)) {
    t0 = (bounds.t0 + bounds.t1 - width) / 2;
  } else {
    t0 = Math.min(Math.max(t0, bounds.t0), bounds.t1 - width);
  }
  return { t0, t1: t0 + width };
}

/** Zoom by `factor` (below 1: closer) so that time `at` keeps its place on the screen. */
export function zoomAt(range: Range, bounds: Range, at: number, factor: number): Range {
  const width = Math.min(Math.max(span(range) * factor, MIN_SPAN), Math.max(span(bounds) * 1.05, MIN_SPAN));
  const share = (at - range.t0) / span(range);
  const t0 = at - share * width;
  return clamp({ t0, t1: t0 + width }, bounds);
}

/** Move by a share of the visible width. */
export function pan(range: Range, bounds: Range, share: number): Range {
  const by = span(range) * share;
  return clamp({ t0: range.t0 + by, t1: range.t1 + by }, bounds);
}

/** A range that shows [start, end] with room on both sides. */
export function around(start: number, end: number, bounds: Range, room = 0.15): Range {
  const width = Math.max(end - start, MIN_SPAN);
  return clamp({ t0: start - width * room, t1: start + width * (1 + room) }, bounds);
}

/** Keep the zoom, move so that [start, end] is in the middle, unless it is comfortably in view already. */
export function reveal(range: Range, bounds: Range, start: number, end: number): Range {
  const width = span(range);
  const margin = width * 0.05;
  if (start >= range.t0 + margin && end <= range.t1 - margin) return range;
  if (end - start > width * 0.9) return around(start, end, bounds);
  const middle = (start + end) / 2;
  return clamp({ t0: middle - width / 2, t1: middle + width / 2 }, bounds);
}

export function contains(outer: Range, inner: Range): boolean {
  return outer.t0 <= inner.t0 && outer.t1 >= inner.t1;
}

export function intersect(a: Range, b: Range): Range {
  return { t0: Math.max(a.t0, b.t0), t1: Math.min(a.t1, b.t1) };
}

export function overlaps(a: Range, b: Range): boolean {
  return a.t0 < b.t1 && b.t0 < a.t1;
}

export const sameRange = (a: Range, b: Range) => a.t0 === b.t0 && a.t1 === b.t1;
