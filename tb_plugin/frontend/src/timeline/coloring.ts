// What colour a slice has: by its kind, or by a group (its name, stream or module) that gets one when it is first seen.

import type { Coloring } from "../hash";
import { GROUP_COLORS, groupIndex, nameHash } from "../palette";
import type { Grouping, LaneSlices } from "./decode";

/** The number of each group, by mode: neighbours in order of appearance get hues that are far apart. */
const seen: Record<string, Map<string, number>> = { name: new Map(), stream: new Map(), module: new Map() };

export function clearGroups(): void {
  for (const groups of Object.values(seen)) groups.clear();
}

/** Whether the server has to tell of each slice what a mode groups by. */
export const isByGroup = (mode: Coloring): mode is Grouping => mode === "stream" || mode === "module";

/** What a slice is grouped by in a mode, empty where it has none or that is not known. */
export const serverGroup = (mode: Coloring, slices: LaneSlices, i: number): string =>
  (isByGroup(mode) && slices.groups?.[mode][i]) || "";

/** Names that differ in numbers only look alike; module names are told by theirs. */
function groupOf(mode: Coloring, slices: LaneSlices, i: number): string {
  if (mode === "name") return slices.name[i].replace(/\d+/g, "#");
  return serverGroup(mode, slices, i);
}

export function groupNumber(mode: Coloring, group: string): number | null {
  if (group === "") return null;
  const groups = seen[mode];
  let n = groups.get(group);
  if (n === undefined) groups.set(group, (n = mode === "name" ? nameNumber(group, groups) : groups.size));
  return n;
}

/** The colour that a name's letters choose, so that it is mostly the same in every view; else the next free one. */
function nameNumber(name: string, groups: ReadonlyMap<string, number>): number {
  const first = nameHash(name) % GROUP_COLORS;
  if (groups.size >= GROUP_COLORS) return first;
  const taken = new Set(groups.values());
  let n = first;
  while (taken.has(n)) n = (n + 1) % GROUP_COLORS;
  return n;
}

/** Palette indices of a lane's rectangles in a mode. */
export function colorsOf(slices: LaneSlices, mode: Coloring): Uint8Array {
  if (mode === "kind" || (mode !== "name" && !slices.groups)) return slices.color;
  if (slices.colored?.mode === mode) return slices.colored.color;
  const color = new Uint8Array(slices.start.length);
  for (let i = 0; i < color.length; i += 1) color[i] = groupIndex(groupNumber(mode, groupOf(mode, slices, i)));
  slices.colored = { mode, color };
  return color;
}

/** The groups of some lanes that take most time, for the legend. */
export function groupsIn(
  lanes: Iterable<LaneSlices>,
  mode: Coloring,
  most: number,
): { group: string; color: number }[] {
  const busy = new Map<string, number>();
  for (const slices of lanes) {
    for (let i = 0; i < slices.start.length; i += 1) {
      const group = groupOf(mode, slices, i);
      if (group) busy.set(group, (busy.get(group) ?? 0) + slices.busy[i]);
    }
  }
  const sorted = [...busy].sort((a, b) => b[1] - a[1]).slice(0, most);
  return sorted.map(([group]) => ({ group, color: groupIndex(groupNumber(mode, group)) }));
}
