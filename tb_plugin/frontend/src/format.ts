// Numbers to text: durations, sizes, ratios. Every function takes null for "not measured" and answers a dash, never 0.

import type { SeriesUnit } from "./api";

export const DASH = "—";

/** Made once for each way to write a number: `toLocaleString` with options makes one a call, which takes 20 µs of 21. */
export const written = (least: number, most: number) =>
  new Intl.NumberFormat("en-US", { minimumFractionDigits: least, maximumFractionDigits: most });
const TENTHS = written(0, 1);
const DECIMALS = [1, 2, 3].map((n) => written(n, n));

/** Three significant digits, without an exponent: 1234 -> "1,234", 12.34 -> "12.3", 1.2 -> "1.20", 0 -> "0". */
export function digits(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 100) return Math.round(value).toLocaleString("en-US");
  if (size >= 10) return value.toFixed(1);
  return value.toFixed(2);
}

/** A rounded value can reach the next unit (999.7 us is 1.00 ms): the limit is what rounds to 1000. */
function pick(value: number, base: number, units: readonly string[]): [number, string] {
  let scaled = value;
  let unit = 0;
  while (Math.abs(scaled) >= base * 0.9995 && unit < units.length - 1) {
    scaled /= base;
    unit += 1;
  }
  return [scaled, units[unit]];
}

/** Nanoseconds, as a reader wants them: "950 ns", "12.3 µs", "4.56 ms", "1.23 s", "2 min 5 s", "1 h 2 min". */
export function duration(ns: number | null | undefined): string {
  if (ns == null || Number.isNaN(ns)) return DASH;
  if (ns === 0) return "0 ns";
  if (Math.abs(ns) < 999.5) return `${Number.isInteger(ns) ? ns : digits(ns)} ns`;
  const [value, unit] = pick(ns / 1e3, 1000, ["µs", "ms", "s"]);
  if (unit !== "s" || Math.abs(value) < 119.95) return `${digits(value)} ${unit}`;
  const seconds = Math.round(ns / 1e9);
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 60) return seconds % 60 ? `${minutes} min ${seconds % 60} s` : `${minutes} min`;
  const hours = Math.trunc(minutes / 60);
  return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
}

/** A duration for the marks of an axis: without zeros that say nothing ("40 ms", "2.5 s"). */
export function axisDuration(ns: number): string {
  return ns === 0 ? "0" : withoutZeros(duration(ns));
}

/** "1.50 GiB" as "1.5 GiB", "2.00 ms" as "2 ms". */
export function withoutZeros(text: string): string {
  return text.replace(/(\.\d*?)0+(?= )/, "$1").replace(/\.(?= )/, "");
}

/** Milliseconds with a fixed number of decimals, for columns that are compared line by line. */
export function milliseconds(ns: number | null | undefined): string {
  if (ns == null || Number.isNaN(ns)) return DASH;
  const ms = ns / 1e6;
  return DECIMALS[Math.abs(ms) >= 100 ? 0 : Math.abs(ms) >= 1 ? 1 : 2].format(ms);
}

/** The exact value: "1,234,567 ns". */
export function exact(ns: number | null | undefined): string {
  if (ns == null || Number.isNaN(ns)) return DASH;
  return `${TENTHS.format(ns)} ns`;
}

/** Binary units, for memory. */
export function bytes(n: number | null | undefined): string {
  if (n == null || Number.isNaN(n)) return DASH;
  if (Math.abs(n) < 1024) return `${Math.round(n)} B`;
  const [value, unit] = pick(n / 1024, 1024, ["KiB", "MiB", "GiB", "TiB", "PiB"]);
  return `${digits(value)} ${unit}`;
}

/** Decimal units, for rates. */
export function rate(perSecond: number | null | undefined): string {
  if (perSecond == null || Number.isNaN(perSecond)) return DASH;
  if (Math.abs(perSecond) < 1000) return `${Math.round(perSecond)} B/s`;
  const [value, unit] = pick(perSecond / 1000, 1000, ["kB/s", "MB/s", "GB/s", "TB/s"]);
  return `${digits(value)} ${unit}`;
}

/** Floating point operations in decimal units: "3.2 GFLOP". */
export function operations(n: number | null | undefined): string {
  if (n == null || Number.isNaN(n)) return DASH;
  if (Math.abs(n) < 1000) return `${Math.round(n)} FLOP`;
  const [value, unit] = pick(n / 1000, 1000, ["kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"]);
  return `${digits(value)} ${unit}`;
}

/** 0..1 to percent; a share that is small but not 0 never reads "0.0 %". */
export function percent(ratio: number | null | undefined): string {
  if (ratio == null || Number.isNaN(ratio)) return DASH;
  const value = ratio * 100;
  if (value === 0) return "0 %";
  if (Math.abs(value) < 0.05) return "< 0.1 %";
  if (Math.abs(value) >= 99.95) return `${value.toFixed(0)} %`;
  return `${value.toFixed(1)} %`;
}

export function count(n: number | null | undefined): string {
  return n == null || Number.isNaN(n) ? DASH : Math.round(n).toLocaleString("en-US");
}

/** "1 step", "2,310 steps". */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** A series value by the unit of its series. */
export function quantity(value: number | null | undefined, unit: SeriesUnit): string {
  if (unit === "ratio") return percent(value);
  if (unit === "bytes") return bytes(value);
  if (unit === "bytes_per_s") return rate(value);
  if (value == null || Number.isNaN(value)) return DASH;
  if (unit === "number") return value !== 0 && Math.abs(value) < 0.1 ? value.toPrecision(3) : digits(value);
  return perSecond(value);
}

/** How often something happens. */
function perSecond(times: number): string {
  if (times < 1000) return `${digits(times)}/s`;
  const [value, unit] = pick(times / 1000, 1000, ["k", "M", "G", "T"]);
  return `${digits(value)} ${unit}/s`;
}

/** Milliseconds since something happened, coarse: "just now", "4 s ago", "3 min ago", "2 days ago". */
export function ago(ms: number): string {
  const seconds = Math.max(0, ms / 1000);
  if (seconds < 1.5) return "just now";
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} days ago`;
}

/** Sorted numbers to ranges: [5,6,7,10] -> "5–7, 10"; at most `limit` parts, then an ellipsis. */
export function ranges(numbers: readonly number[], limit = 3): string {
  const parts: string[] = [];
  for (let i = 0; i < numbers.length; ) {
    let j = i;
    while (j + 1 < numbers.length && numbers[j + 1] === numbers[j] + 1) j += 1;
    if (parts.length === limit) return `${parts.join(", ")}, …`;
    parts.push(i === j ? `${numbers[i]}` : `${numbers[i]}–${numbers[j]}`);
    i = j + 1;
  }
  return parts.join(", ");
}

/** Whether Unix ms are such: clocks that count from the start of a machine or of a recording end long before. */
export const hasDate = (ms: number): boolean => ms > Date.UTC(2000, 0, 1);

/** Unix ms as a local date with the time of day: "2026-03-07 14:05". */
export function calendar(ms: number): string {
  return clock(BigInt(Math.floor(ms)) * 1_000_000n).slice(0, 16);
}

/** Absolute Unix nanoseconds (bigint) as local date and time with milliseconds. */
export function clock(unixNs: bigint): string {
  const date = new Date(Number(unixNs / 1_000_000n));
  const pad = (n: number, width = 2) => String(n).padStart(width, "0");
  return (
    `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ` +
    `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}.${pad(date.getMilliseconds(), 3)}`
  );
}
