// The colours of data, one set for each theme. They were searched numerically so that the classes of one chart stay
// apart under protanopia, deuteranopia and tritanopia, and every fill has a contrast of 3 or more to its background;
// test/palette.test.ts holds both.

import { mix } from "./color";
import { Kind, type Activity, type Phase } from "./kinds";

export type Theme = "light" | "dark";

/** Background on which data is drawn; equals --canvas of styles/theme.css. */
export const CANVAS: Record<Theme, string> = { light: "#ffffff", dark: "#15171c" };

export const ACTIVITY_COLORS: Record<Theme, Record<Activity, string>> = {
  light: {
    kernel: "#00785a",
    communication: "#86290f",
    memcpy: "#8a6100",
    memset: "#a58e60",
    runtime: "#07595c",
    dataloader: "#ac1c98",
    cpu: "#4b8ffd",
    other: "#79848e",
  },
  dark: {
    kernel: "#72c1a4",
    communication: "#d2541f",
    memcpy: "#d9bf45",
    memset: "#a0957a",
    runtime: "#7be5e6",
    dataloader: "#bd4fae",
    cpu: "#5684ff",
    other: "#686c73",
  },
};

export const PHASE_COLORS: Record<Theme, Record<Phase, string>> = {
  light: {
    input_wait: "#892d66",
    h2d: "#927403",
    forward: "#17669a",
    backward: "#885ce0",
    optimizer: "#139063",
    compute: "#3d5fc9",
    validation: "#aa190a",
    other: "#8c919e",
  },
  dark: {
    input_wait: "#c273b5",
    h2d: "#e2cd4d",
    forward: "#6ec4f0",
    backward: "#5572f1",
    optimizer: "#93b083",
    compute: "#6f8ff5",
    validation: "#cf4f1d",
    other: "#6a707b",
  },
};

const KIND_COLORS: Record<Theme, Record<number, string>> = {
  light: {
    [Kind.OTHER]: "#79848e",
    [Kind.STEP]: "#5b6b7f",
    [Kind.PHASE]: "#17669a",
    [Kind.ANNOTATION]: "#7d4fc4",
    [Kind.OP]: "#4b8ffd",
    [Kind.PYTHON]: "#8c8a4e",
    [Kind.RUNTIME]: "#07595c",
    [Kind.LAUNCH]: "#0b7c8f",
    [Kind.KERNEL]: "#00785a",
    [Kind.COLLECTIVE]: "#86290f",
    [Kind.MEMCPY]: "#8a6100",
    [Kind.MEMSET]: "#a58e60",
    [Kind.SYNC]: "#c23a3a",
    [Kind.MEMORY]: "#6f7d76",
    [Kind.DATALOADER]: "#ac1c98",
    [Kind.MODULE]: "#5560c8",
    [Kind.OVERHEAD]: "#6b5a5a",
    [Kind.COUNTER]: "#79848e",
    [Kind.DEVICE_ANNOTATION]: "#7d4fc4",
  },
  dark: {
    [Kind.OTHER]: "#7d858f",
    [Kind.STEP]: "#8193aa",
    [Kind.PHASE]: "#6ec4f0",
    [Kind.ANNOTATION]: "#a98af0",
    [Kind.OP]: "#5684ff",
    [Kind.PYTHON]: "#a8a35c",
    [Kind.RUNTIME]: "#3f9fb8",
    [Kind.LAUNCH]: "#7be5e6",
    [Kind.KERNEL]: "#72c1a4",
    [Kind.COLLECTIVE]: "#d2541f",
    [Kind.MEMCPY]: "#d9bf45",
    [Kind.MEMSET]: "#a0957a",
    [Kind.SYNC]: "#f0716b",
    [Kind.MEMORY]: "#87958e",
    [Kind.DATALOADER]: "#bd4fae",
    [Kind.MODULE]: "#7f88e8",
    [Kind.OVERHEAD]: "#a08c8c",
    [Kind.COUNTER]: "#8f9aa6",
    [Kind.DEVICE_ANNOTATION]: "#a98af0",
  },
};

/** Shades of one kind: neighbours with different names stay distinguishable, their kind stays readable. */
export const SHADES = 3;

function shade(base: string, theme: Theme, step: number): string {
  // Only away from the background, so that no shade loses the contrast of its base.
  return mix(base, theme === "light" ? "#000000" : "#ffffff", step * 0.13);
}

/** A small stable hash of a name; numbers in it do not count, so `layer3.conv` and `layer4.conv` look alike. */
export function nameHash(name: string): number {
  let h = 2166136261;
  for (let i = 0; i < name.length; i += 1) {
    const c = name.charCodeAt(i);
    if (c >= 48 && c <= 57) continue;
    h = Math.imul(h ^ c, 16777619);
  }
  return (h >>> 8) % 65536;
}

/** Index of a slice's colour in `slicePalette`: phases by their name, every other kind in one of its shades. */
export function colorIndex(kind: number, name: string): number {
  if (kind === Kind.PHASE && name in PHASE_COLORS.light) {
    return PHASE_OFFSET + Object.keys(PHASE_COLORS.light).indexOf(name);
  }
  const known = kind < KIND_COUNT ? kind : Kind.OTHER;
  return known * SHADES + (nameHash(name) % SHADES);
}

const KIND_COUNT = Object.keys(Kind).length;
const PHASE_OFFSET = KIND_COUNT * SHADES;
const GROUP_OFFSET = PHASE_OFFSET + Object.keys(PHASE_COLORS.light).length;

/** All fills of the timeline, addressed by `colorIndex` and `groupIndex`. */
export function slicePalette(theme: Theme): string[] {
  const fills: string[] = [];
  for (let kind = 0; kind < KIND_COUNT; kind += 1) {
    for (let step = 0; step < SHADES; step += 1) fills.push(shade(KIND_COLORS[theme][kind], theme, step));
  }
  fills.push(...Object.values(PHASE_COLORS[theme]));
  for (let step = 0; step < SHADES; step += 1) fills.push(...groupHues(theme).map((hue) => shade(hue, theme, step)));
  return fills.concat(NO_GROUP[theme]);
}

/** The classes of one chart are told apart by everybody: the same hues serve for names, streams and modules. */
const groupHues = (theme: Theme) => Object.values(ACTIVITY_COLORS[theme]).slice(0, GROUP_HUES);
const GROUP_HUES = 7;
const NO_GROUP: Record<Theme, string> = { light: "#79848e", dark: "#7d858f" };

/** Colours that groups can have before two share one. */
export const GROUP_COLORS = GROUP_HUES * SHADES;

/** Index in `slicePalette` of the colour of group `n`; null is no group. */
export function groupIndex(n: number | null): number {
  return GROUP_OFFSET + (n === null ? GROUP_COLORS : n % GROUP_COLORS);
}

export function kindColor(theme: Theme, kind: number): string {
  return KIND_COLORS[theme][kind] ?? KIND_COLORS[theme][Kind.OTHER];
}

/** The place of the first GPU in SERIES_COLORS: the green of kernels. */
export const GPU_COLOR = 1;

/** The places in SERIES_COLORS of the directions of copies, wherever they are shown; and of one that is not told. */
export const COPY_COLORS: Record<string, number> = { HtoD: 0, DtoH: 3, DtoD: 5, PtoP: 7 };
export const OTHER_COPY_COLOR = 6;

/** Lines of the resource curves, by group of series; the order is that of first appearance. */
export const SERIES_COLORS: Record<Theme, readonly string[]> = {
  light: ["#17669a", "#00785a", "#a64b00", "#885ce0", "#ac1c98", "#8a6100", "#5b6b7f", "#0b7c8f"],
  dark: ["#6aa6f5", "#72c1a4", "#e07a3c", "#a98af0", "#d66ba5", "#d9bf45", "#8f9aa6", "#7be5e6"],
};

/** Copies of a direction, or fills (null); the n-th kind of the same one in a shade of its colour. */
export function memoryOperationColor(theme: Theme, direction: string | null, nth: number): string {
  const base =
    direction === null
      ? ACTIVITY_COLORS[theme].memset
      : SERIES_COLORS[theme][COPY_COLORS[direction] ?? OTHER_COPY_COLOR];
  return shade(base, theme, 2 * nth);
}

export const seriesColor = (theme: Theme, at: number): string => SERIES_COLORS[theme][at % SERIES_COLORS[theme].length];
