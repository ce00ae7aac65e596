// What a step is divided into: classes of activity or phases, with their columns and colours.

import { DEFINITIONS } from "../definitions";
import { ACTIVITIES, ACTIVITY_LABELS, PHASE_LABELS, PHASES, type Activity, type Phase } from "../kinds";
import type { Steps } from "../steps";

export type By = "activity" | "phase";

/** Phases where they were recorded for more steps than the activity was. */
export function defaultBy(deep: number, phased: number): By {
  return phased > deep ? "phase" : "activity";
}

export interface Part {
  key: string;
  label: string;
  title: string;
  color: string;
  values: (number | null)[];
}

/** The parts that are above 0 in any step, in drawing order. */
export function partsOf(all: Steps, by: By, colors: Record<string, string>): Part[] {
  const used = (values: (number | null)[]) => values.some((value) => value !== null && value > 0);
  if (by === "phase") {
    return PHASES.filter((key) => used(all.phase[key])).map((key: Phase) => ({
      key,
      label: PHASE_LABELS[key],
      title: DEFINITIONS.phaseNames[key],
      color: colors[key],
      values: all.phase[key],
    }));
  }
  return ACTIVITIES.filter((key) => used(all.activity[key])).map((key: Activity) => ({
    key,
    label: ACTIVITY_LABELS[key],
    title: DEFINITIONS.classes[key],
    color: colors[key],
    values: all.activity[key],
  }));
}

export interface Slowest {
  row: number; // of the slowest step
  ns: number;
  median: number;
  part: { label: string; more: number } | null; // what it takes more of than the median step, if one stands out
}

const FEWEST_STEPS = 3;
const STANDS_OUT = 0.4; // of the difference

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(sorted.length / 2) - 1];
}

/** The slowest whole step among `rows`, and the part that makes most of its difference to the medians of all. */
export function slowest(
  rows: readonly number[],
  complete: readonly boolean[],
  whole: readonly (number | null)[],
  parts: readonly Pick<Part, "label" | "values">[],
): Slowest | null {
  const told = rows.filter((row) => complete[row] && whole[row] !== null);
  if (told.length < FEWEST_STEPS) return null;
  const size = (row: number) => whole[row] as number;
  const row = told.reduce((best, at) => (size(at) > size(best) ? at : best));
  const usual = median(told.map(size));
  let most: Slowest["part"] = null;
  for (const part of parts) {
    const values = told.map((at) => part.values[at]).filter((ns): ns is number => ns !== null);
    const own = part.values[row];
    if (own === null || values.length < FEWEST_STEPS) continue;
    const more = own - median(values);
    if (more > (most?.more ?? 0)) most = { label: part.label, more };
  }
  const stands = most !== null && most.more >= STANDS_OUT * (size(row) - usual);
  return { row, ns: size(row), median: usual, part: stands ? most : null };
}
