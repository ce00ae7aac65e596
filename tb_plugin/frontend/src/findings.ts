// Findings as the page shows them: severities in words, evidence with labels and units.

import type { Finding, Place, Verdict } from "./api";
import { bytes, count, DASH, duration, percent, rate } from "./format";

export const SEVERITY_WORDS: Record<Verdict["severity"], string> = {
  critical: "Critical",
  warning: "Warning",
  info: "Note",
  ok: "Fine",
  unknown: "Not measured",
};

/** Unit suffixes of evidence, the longest first: what the name says about the value. */
const UNITS: [suffix: string, label: string, text: (value: number) => string][] = [
  ["_ns_per_step", " a step", duration],
  ["_bytes_per_hour", " an hour", bytes],
  ["_bytes_per_s", "", rate],
  ["_ns", "", duration],
  ["_bytes", "", bytes],
  ["_ratio", "", percent],
];

/** Words of names that a reader writes otherwise. */
const WORDS: Record<string, string> = {
  busbw: "bus bandwidth",
  cpu: "CPU",
  fp32: "FP32",
  gpu: "GPU",
  gpus: "GPUs",
  iowait: "I/O wait",
  sm: "SM",
};

/** "lost_ns_per_step": 69298500 -> ["Lost a step", "69.3 ms"]. */
export function evidenceRow(name: string, value: number | string | boolean | null): [label: string, text: string] {
  const unit = UNITS.find(([suffix]) => name.endsWith(suffix));
  const words = (unit ? name.slice(0, -unit[0].length) + unit[1] : name)
    .split(/[_ ]/)
    .map((word) => WORDS[word] ?? word)
    .join(" ");
  const label = words.charAt(0).toUpperCase() + words.slice(1);
  if (value === null) return [label, DASH];
  if (typeof value === "boolean") return [label, value ? "yes" : "no"];
  if (typeof value === "string") return [label, value];
  if (unit) return [label, unit[2](value)];
  return [label, Number.isInteger(value) ? count(value) : String(Math.round(value * 1000) / 1000)];
}

/** "up to 39.0 % of the step time, 69.3 ms a step"; null where it cannot be told. */
export function gainText(finding: Finding): string | null {
  const { gain } = finding;
  if (!gain) return null;
  const perStep = gain.ns_per_step === null ? "" : `, ${duration(gain.ns_per_step)} a step`;
  return `up to ${percent(gain.ratio)}${perStep}`;
}

/** What a button that leads to a place says: "Show ProfilerStep#7", "Show step 40", "Show kernel gemm". */
export function placeLabel({ what, name }: Place): string {
  return what === "step" && /step/i.test(name) ? `Show ${name}` : `Show ${what} ${name}`;
}
