// Where the time axis of a chart of steps ends: a first step that compiles for seconds must not flatten all others.

const FEWEST = 20; // below that an outlier is a good part of the picture
const FAR = 4; // times the 95th percentile

/** A round number at or above the value, so that the axis ends on a mark. */
export function niceCeiling(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  for (const factor of [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]) if (factor * power >= value * 0.9999) return factor * power;
  return 10 * power;
}

/** Into how many equal parts the marks divide an axis up to a `niceCeiling`, so that all of them are round. */
export function partsOf(top: number): number {
  const round = (value: number) => [1, 2, 5, 10].some((one) => Math.abs(value - one) < 1e-6);
  const mantissa = top / 10 ** Math.floor(Math.log10(top) + 1e-9);
  return [4, 5, 3].find((parts) => round((mantissa / parts) * (mantissa < parts ? 10 : 1))) ?? 4;
}

export interface Cut {
  top: number; // ns where the axis ends
  above: number; // steps that reach beyond it
  longest: number; // the longest of them
}

/** Where to cut the axis, or null when the longest step fits the picture. */
export function cutOf(durations: readonly (number | null)[]): Cut | null {
  const sorted = durations.filter((ns): ns is number => ns !== null).sort((a, b) => a - b);
  if (sorted.length < FEWEST) return null;
  const p95 = sorted[Math.ceil(sorted.length * 0.95) - 1];
  const longest = sorted[sorted.length - 1];
  if (!(p95 > 0) || longest < FAR * p95) return null;
  const top = niceCeiling(2 * p95);
  return { top, above: sorted.filter((ns) => ns > top).length, longest };
}
