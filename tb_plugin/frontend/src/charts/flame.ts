// Modules as a flame graph: the tree, equal modules as one, and where each box lies.

import type { ModuleRow } from "../api";

export interface Flame {
  name: string;
  path: readonly string[]; // names from the outermost, those of groups included
  ns: number;
  forward: number;
  backward: number;
  calls: number | null;
  count: number; // modules that it stands for
  children: Flame[];
}

export type Measure = "device" | "host";

/** The tree of all modules; a module without time keeps its place. `rest`: what belongs to no module. */
export function flameOf(modules: readonly ModuleRow[], measure: Measure): { root: Flame; rest: number } {
  const root: Flame = { name: "", path: [], ns: 0, forward: 0, backward: 0, calls: null, count: 1, children: [] };
  const known = new Map<string, Flame>([["[]", root]]);
  let rest = 0;
  for (const module of modules) {
    const forward = module[`forward_${measure}_total_ns`] ?? 0;
    const backward = module[`backward_${measure}_total_ns`] ?? 0;
    if (module.path.length === 0) {
      rest = (module[`forward_${measure}_self_ns`] ?? 0) + (module[`backward_${measure}_self_ns`] ?? 0);
      continue;
    }
    const parent = known.get(JSON.stringify(module.path.slice(0, -1)));
    if (!parent) continue; // cut off with its parent
    const own = { path: module.path, ns: forward + backward, forward, backward, calls: module.calls, count: 1 };
    const node: Flame = { name: module.path[module.path.length - 1], ...own, children: [] };
    known.set(JSON.stringify(module.path), node);
    parent.children.push(node);
  }
  root.ns = root.children.reduce((sum, child) => sum + child.ns, 0);
  root.forward = root.children.reduce((sum, child) => sum + child.forward, 0);
  root.backward = root.children.reduce((sum, child) => sum + child.backward, 0);
  return { root, rest };
}

/** What modules of a class have in common: Linear_0, Linear_1 and the group Linear_0–11. */
export const stem = (name: string) => name.replace(/\d+(–\d+)?/g, "#");

/**
 * What modules have in common that are made the same way: their names without numbers, and those below them. One that
 * only a number names, such as "features.3", and that has nothing below it may be anything: its place tells it apart.
 */
function shape(node: Flame): string {
  const place = node.children.length === 0 && /(?:^|\.)(\d+)$/.exec(node.name);
  return `${stem(node.name)}${place ? place[1] : ""}(${node.children.map(shape).join()})`;
}

/** The same tree with siblings of the same shape as one box: "Layer_0–31", 32 modules. */
export function grouped(node: Flame, path: readonly string[] = node.path): Flame {
  const groups = new Map<string, Flame[]>();
  for (const child of node.children) {
    const key = shape(child);
    groups.set(key, [...(groups.get(key) ?? []), child]);
  }
  const children = [...groups.values()].map((same) => {
    const one = same.length === 1 ? same[0] : merged(same);
    return grouped(one, [...path, one.name]);
  });
  return { ...node, path, children };
}

function merged(same: readonly Flame[]): Flame {
  const sum = (of: (node: Flame) => number) => same.reduce((total, node) => total + of(node), 0);
  return {
    name: groupName(same.map((node) => node.name)),
    path: same[0].path,
    ns: sum((node) => node.ns),
    forward: sum((node) => node.forward),
    backward: sum((node) => node.backward),
    calls: same[0].calls === null ? null : sum((node) => node.calls ?? 0),
    count: sum((node) => node.count),
    // Of the same shape: the n-th children of all belong together.
    children: same[0].children.map((_, i) => mergedOrOne(same.map((node) => node.children[i]))),
  };
}

function mergedOrOne(same: readonly Flame[]): Flame {
  const one = merged(same);
  return same.every((node) => node.name === same[0].name) ? { ...one, name: same[0].name } : one;
}

/** "Layer_0" to "Layer_31" are "Layer_0–31", and so are "Layer_0–1" to "Layer_30–31"; names with other differences
 * keep the first one. */
function groupName(names: readonly string[]): string {
  const parts = names.map((name) => name.split(/(\d+(?:–\d+)?)/));
  const differing = parts[0].flatMap((_, i) => (parts.some((part) => part[i] !== parts[0][i]) ? [i] : []));
  if (differing.length !== 1) return names[0];
  const numbers = parts.flatMap((part) => part[differing[0]].split("–").map(Number));
  const range = `${Math.min(...numbers)}–${Math.max(...numbers)}`;
  return parts[0].map((part, i) => (i === differing[0] ? range : part)).join("");
}

export interface Box {
  node: Flame;
  depth: number;
  left: number; // 0..1 of the width
  width: number;
}

const LEAST_WIDTH = 0.0012; // narrower boxes cannot be hit; their parent's width holds them
const MOST_BOXES = 2000;

/** The boxes of a node and all below it; `hidden` were too narrow. */
export function boxesOf(node: Flame): { boxes: Box[]; depth: number; hidden: number } {
  const boxes: Box[] = [];
  let hidden = 0;
  let deepest = 0;
  const place = (at: Flame, depth: number, left: number, width: number) => {
    if (width < LEAST_WIDTH || boxes.length >= MOST_BOXES) {
      hidden += 1;
      return;
    }
    boxes.push({ node: at, depth, left, width });
    deepest = Math.max(deepest, depth);
    let x = left;
    for (const child of at.children) {
      const w = at.ns > 0 ? (width * child.ns) / at.ns : 0;
      place(child, depth + 1, x, w);
      x += w;
    }
  };
  if (node.ns > 0) place(node, 0, 0, 1);
  return { boxes, depth: deepest + 1, hidden };
}

/** The node with a path, or the root where none has it. */
export function find(root: Flame, path: readonly string[]): Flame {
  let at = root;
  for (const name of path) {
    const next = at.children.find((child) => child.name === name);
    if (!next) return root;
    at = next;
  }
  return at;
}
