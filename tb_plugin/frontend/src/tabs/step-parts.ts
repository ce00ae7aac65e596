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
