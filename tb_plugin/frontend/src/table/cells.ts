// Values of a table as text, by the unit of their column; and texts as values, for filters.

import { bytes, count, DASH, digits, duration, exact, operations, percent, rate, written } from "../format";
import type { Unit, Value } from "./requests";

/** What a cell shows. */
export function shownText(value: Value, unit: Unit): string {
  if (value === null) return DASH;
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "yes" : "no";
  switch (unit) {
    case "ns":
    case "moment":
      return duration(value);
    case "bytes":
      return bytes(value);
    case "bytes_per_s":
      return rate(value);
    case "flop":
      return operations(value);
    case "flop_per_s":
      return `${operations(value)}/s`;
    case "ratio":
    case "share":
      return percent(value);
    case "number":
      return value !== 0 && Math.abs(value) < 0.01 ? value.toPrecision(2) : digits(value);
    case "id":
      return String(value);
    default:
      return count(value);
  }
}

/** The exact value, for tooltips and the clipboard: without a unit where `plain`. */
export function exactText(value: Value, unit: Unit, plain = false): string {
  if (value === null) return plain ? "" : "Not measured, or not told by this capture";
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || plain) return String(value);
  if (unit === "ns" || unit === "moment") return exact(value);
  if (unit === "bytes") return `${count(value)} bytes`;
  if (unit === "bytes_per_s") return `${count(value)} bytes/s`;
  if (unit === "flop") return `${count(value)} FLOP`;
  if (unit === "flop_per_s") return `${count(value)} FLOP/s`;
  return unit === "ratio" || unit === "share" ? `${PERCENT.format(value * 100)} %` : String(value);
}

const PERCENT = written(0, 4);

const FACTORS: Partial<Record<Unit, Record<string, number>>> = {
  ns: { "": 1, ns: 1, us: 1e3, µs: 1e3, μs: 1e3, ms: 1e6, s: 1e9 },
  moment: { "": 1, ns: 1, us: 1e3, µs: 1e3, μs: 1e3, ms: 1e6, s: 1e9 },
  bytes: { "": 1, b: 1, kb: 1024, kib: 1024, mb: 1 << 20, mib: 1 << 20, gb: 2 ** 30, gib: 2 ** 30 },
  bytes_per_s: { "": 1, "b/s": 1, "kb/s": 1e3, "mb/s": 1e6, "gb/s": 1e9, "tb/s": 1e12 },
  flop: { "": 1, flop: 1, mflop: 1e6, gflop: 1e9, tflop: 1e12 },
  flop_per_s: { "": 1, "flop/s": 1, "mflop/s": 1e6, "gflop/s": 1e9, "tflop/s": 1e12 },
  ratio: { "": 1, "%": 0.01 },
  share: { "": 1, "%": 0.01 },
};

/** "10 us", "1.5ms", "5 %": a quantity in the column's own unit; null for nothing, NaN for what is none. */
export function quantityOf(text: string, unit: Unit): number | null {
  if (text.trim() === "") return null;
  const match = text
    .trim()
    .toLowerCase()
    .match(/^(-?\d+(?:\.\d*)?|-?\.\d+)(?:e(\d+))?\s*(\D*)$/);
  const factor = match && (FACTORS[unit] ?? { "": 1 })[match[3]];
  return match && factor !== undefined && factor !== null
    ? Number(match[1]) * 10 ** Number(match[2] ?? 0) * factor
    : NaN;
}

/** What may follow a number in a filter on such a column. */
export const UNIT_HINTS: Partial<Record<Unit, string>> = {
  ns: "e.g. 10 us, 1.5 ms",
  moment: "e.g. 10 us, 1.5 ms",
  bytes: "e.g. 64 KiB, 1 MiB",
  bytes_per_s: "e.g. 10 GB/s",
  flop: "e.g. 5 GFLOP",
  flop_per_s: "e.g. 2 TFLOP/s",
  ratio: "e.g. 5 %",
  share: "e.g. 5 %",
};

/**
 * A long text in two parts, so that its middle gives way where there is no room: what tells long names apart often
 * stands at their end.
 */
export function halves(text: string, tail = 14): [string, string] {
  if (text.length < 2 * tail) return [text, ""];
  let at = text.length - tail;
  // Neither inside a pair of surrogates, nor at a space, which would be lost at the edge of a box.
  while (at > 0 && (/[\udc00-\udfff]/.test(text[at]) || text[at] === " " || text[at - 1] === " ")) at -= 1;
  return [text.slice(0, at), text.slice(at)];
}

/** Rows and cells as tab-separated text: tabs and breaks in names would make cells of their own. */
export const asTabs = (rows: readonly (readonly string[])[]) =>
  rows.map((cells) => cells.map((cell) => cell.replace(/[\t\r\n]+/g, " ")).join("\t")).join("\n");
