// Where the time axis has its marks and what they say.

import type { Range } from "./viewport";

export interface Tick {
  t: number;
  label: string;
}

export interface Ruler {
  /** What every label is relative to, where labels are offsets; null where they count from the start of the trace. */
  base: Tick | null;
  step: number;
  ticks: Tick[];
}

const UNITS = [
  { ns: 1, name: "ns" },
  { ns: 1e3, name: "µs" },
  { ns: 1e6, name: "ms" },
  { ns: 1e9, name: "s" },
] as const;

/** 1, 2 or 5 times a power of ten; above 20 s the steps of a clock (30 s, 1 min, ...). Never below 1 ns. */
export function niceStep(ns: number): number {
  if (ns > 20e9) {
    const clock = [30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400].map((s) => s * 1e9);
    return clock.find((step) => step >= ns) ?? Math.ceil(ns / 86400e9) * 86400e9;
  }
  const power = 10 ** Math.floor(Math.log10(Math.max(ns, 1)));
  for (const factor of [1, 2, 5, 10]) if (factor * power >= ns) return Math.max(1, Math.round(factor * power));
  return power * 10;
}

/** A time with as many decimals as marks `step` apart need, in the unit that suits `size`. */
export function tickLabel(ns: number, step: number, size = ns): string {
  if (Math.abs(size) >= 120e9) {
    const decimals = decimalsOf(1e9, step);
    const whole = Math.round((ns / 1e9) * 10 ** decimals); // in the last place: 59.96 must not read 60.0
    const seconds = Math.trunc(whole / 10 ** decimals);
    const part = decimals ? `.${String(whole % 10 ** decimals).padStart(decimals, "0")}` : "";
    const hours = Math.trunc(seconds / 3600);
    const minutes = Math.trunc((seconds % 3600) / 60);
    const rest = String(seconds % 60).padStart(2, "0") + part;
    return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
  }
  const unit = [...UNITS].reverse().find((u) => Math.abs(size) >= u.ns) ?? UNITS[0];
  return `${(ns / unit.ns).toFixed(decimalsOf(unit.ns, step))} ${unit.name}`;
}

/** How many decimals of a unit tell marks apart that are `step` from each other. */
const decimalsOf = (unit: number, step: number) => Math.max(0, Math.min(9, Math.ceil(Math.log10(unit / step) - 1e-9)));

/**
 * Marks for a range drawn over `px` pixels. `zero` is the time that reads 0 (the start of the trace).
 * Deep in a long trace the labels are offsets from a base mark, so that they stay short.
 */
export function ruler(range: Range, px: number, zero: number, spacing = 110): Ruler {
  const step = niceStep(((range.t1 - range.t0) * spacing) / Math.max(px, 1));
  const first = Math.ceil((range.t0 - zero) / step);
  const last = Math.floor((range.t1 - zero) / step);
  const farthest = Math.max(Math.abs(range.t1 - zero), Math.abs(range.t0 - zero));
  const offsets = farthest > step * 5e3;
  if (!offsets) {
    const ticks = [];
    for (let i = first; i <= last; i += 1) {
      ticks.push({ t: zero + i * step, label: i === 0 ? "0" : tickLabel(i * step, step, farthest) });
    }
    return { base: null, step, ticks };
  }
  const coarse = niceStep(step * 20);
  const origin = Math.floor((range.t0 - zero) / coarse) * coarse;
  const ticks = [];
  for (let i = first; i <= last; i += 1) {
    const offset = i * step - origin;
    ticks.push({ t: zero + i * step, label: `+${tickLabel(offset, step, Math.max(range.t1 - zero - origin, step))}` });
  }
  return { base: { t: zero + origin, label: baseLabel(origin, coarse) }, step, ticks };
}

/** The base is told in full: "12.345678 s". */
function baseLabel(ns: number, step: number): string {
  if (Math.abs(ns) < 1e9) return tickLabel(ns, step);
  return `${(ns / 1e9).toFixed(decimalsOf(1e9, step))} s`;
}
