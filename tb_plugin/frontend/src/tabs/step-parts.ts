// What a step is divided into: classes of activity or phases, with their colours.

import { DEFINITIONS } from "../definitions";
import { ACTIVITIES, ACTIVITY_LABELS, PHASE_LABELS, PHASES } from "../kinds";
import { ACTIVITY_COLORS, PHASE_COLORS, type Theme } from "../palette";

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
}

/** All parts of a division, in drawing order. */
export function partsOf(by: By, theme: Theme): Part[] {
  if (by === "phase") {
    return PHASES.map((key) => ({
      key,
      label: PHASE_LABELS[key],
      title: DEFINITIONS.phaseNames[key],
      color: PHASE_COLORS[theme][key],
    }));
  }
  return ACTIVITIES.map((key) => ({
    key,
    label: ACTIVITY_LABELS[key],
    title: DEFINITIONS.classes[key],
    color: ACTIVITY_COLORS[theme][key],
  }));
}

/** What a step is called: its own number, else its marker, else its place. */
export function nameOf(id: number | null, label: string | null, index: number): string {
  return id !== null ? String(id) : (label ?? `#${index + 1}`);
}
