// The route of the Compare tab (docs/api.md), and how its numbers read.

import { json, type WorkerKey } from "../api";
import { bytes, DASH, digits, duration, exact, percent } from "../format";
import type { Against, Joined } from "../hash";

export interface CompareSide {
  run: string;
  worker: string;
  rank: number | null;
  framework: string | null;
  devices: string[];
  steps: number;
  deep_steps: number;
  phased_steps: number;
  windows: number;
}

export interface Difference {
  a_ns: number;
  b_ns: number;
  difference_ns: number;
}

export interface Quantity {
  name: string;
  unit: "ns" | "ratio" | "bytes" | "samples_per_s";
  a: number | null;
  b: number | null;
  difference: number | null;
  ratio: number | null;
  why: string | null;
}

export interface ComparedParts {
  why: string | null;
  a_ns: number | null;
  b_ns: number | null;
  difference_ns: number | null;
  in_other: string[];
  rows: (Difference & { name: string })[];
}

export interface JoinedRow extends Difference {
  name: string;
  status: "both" | "added" | "removed";
  accumulated_ns: number;
  a_count: number | null;
  b_count: number | null;
  level?: { opens: string | null; self: number }; // in the tree: the path of its parts, and its own difference
}

/** A module with all its parts, after what it is a part of; the first one is the root. */
export interface ModuleNode extends Omit<JoinedRow, "accumulated_ns" | "level"> {
  parent: number | null;
  a_self_ns: number;
  b_self_ns: number;
  self_difference_ns: number;
}

export interface ComparedWork {
  why: string | null;
  basis: "device" | "host" | null;
  count: number;
  added: number;
  removed: number;
  a_ns: number | null;
  b_ns: number | null;
  difference_ns: number | null;
  rows: JoinedRow[];
  rest: (Difference & { count: number }) | null;
}

export interface Comparison {
  a: CompareSide;
  b: CompareSide;
  verdict: "slower" | "faster" | "equal" | null;
  sentence: string;
  mostly: { of: "phase" | "activity" | "kernels" | "operators"; name: string; difference_ns: number }[];
  warnings: { code: string; detail: string; a: string | null; b: string | null }[]; // what differs, in words
  headline: Quantity[];
  parts: Record<"phase" | "activity", ComparedParts>;
  work: Record<Exclude<Joined, "tree">, ComparedWork>;
  module_tree: ModuleNode[];
}

export const getComparedWith = (key: WorkerKey, against: Required<Against>, signal?: AbortSignal) =>
  json<Comparison>("compare", { ...key, with_run: against.run, with_worker: against.worker }, signal);

/** One of the headline's numbers. */
export function quantityText(value: number | null, unit: Quantity["unit"]): string {
  if (value === null) return DASH;
  if (unit === "ns") return value === 0 ? "0" : duration(value);
  // Of 0.65 and 0.62 % one decimal tells no difference.
  if (unit === "ratio") return value > 0.001 && value < 0.01 ? `${digits(value * 100)} %` : percent(value);
  return unit === "bytes" ? bytes(value) : `${digits(value)} samples/s`;
}

/** Its difference: that of two percentages is in points. */
export function changeText(value: number | null, unit: Quantity["unit"]): string {
  if (value === null || value === 0) return value === 0 ? "0" : DASH;
  const size = Math.abs(value);
  return `${value > 0 ? "+" : "−"}${unit === "ratio" ? `${digits(size * 100)} points` : quantityText(size, unit)}`;
}

export function exactQuantity(value: number | null, unit: Quantity["unit"]): string {
  return unit === "ns" ? exact(value) : value === null ? DASH : String(value);
}
