// The lanes as a foldable tree, and where each visible one stands on the vertical axis.

import type { LaneInfo } from "../api";
import { isolated } from "./text";

export interface LaneNode {
  info: LaneInfo;
  level: number;
  parent: LaneNode | null;
  children: LaneNode[];
}

export interface Tree {
  roots: LaneNode[];
  byId: Map<number, LaneNode>;
}

export const HEADER_HEIGHT = 24;
export const ROW_PITCH = 17; // a slice is one less: the rest separates rows
export const LANE_PADDING = 3;
export const COUNTER_HEIGHT = 40;

/** What stands at one vertical place. */
export interface LayoutRow {
  node: LaneNode;
  y: number;
  height: number;
  kind: "header" | "slices" | "counter";
  rows: number; // depths shown; 0 for headers and counters
  first: number; // the outermost of them
  foldable: boolean;
  folded: boolean;
}

export interface Layout {
  rows: LayoutRow[];
  height: number;
  index: Map<number, LayoutRow>; // by lane id, visible lanes only
}

/** Lanes whose parent is unknown become roots: a lane is never lost. */
export function buildTree(lanes: readonly LaneInfo[]): Tree {
  const byId = new Map<number, LaneNode>();
  const roots: LaneNode[] = [];
  for (const info of lanes) {
    const parent = info.parent === null || info.parent === info.id ? null : (byId.get(info.parent) ?? null);
    const node: LaneNode = { info, parent, level: parent ? parent.level + 1 : 0, children: [] };
    byId.set(info.id, node);
    (parent ? parent.children : roots).push(node);
  }
  return { roots, byId };
}

export const isFoldable = (node: LaneNode) => node.children.length > 0 || node.info.rows > 1;

const hasSlices = (node: LaneNode) =>
  node.info.type === "thread" || node.info.type === "stream" || (node.info.rows > 0 && node.info.events > 0);

/**
 * Lanes folded when nobody chose: pools of threads, groups of more than four counters below others (the cores), lanes
 * of a process beside its two busiest if the tree would be taller than `budget` pixels, and what still is too much, process by process.
 */
export function defaultFold(tree: Tree, budget: number): Set<number> {
  const folded = new Set<number>();
  for (const node of tree.byId.values()) {
    const counters = node.children.filter((child) => child.info.type === "counter");
    if (node.info.type === "pool") folded.add(node.info.id);
    if (node.level > 1 && counters.length > 4 && counters.length === node.children.length) folded.add(node.info.id);
  }
  if (layout(tree, folded).height <= budget) return folded;
  for (const node of tree.byId.values()) {
    const lanes = node.children.filter((child) => child.info.rows > 1 && child.children.length === 0);
    const busiest = [...lanes].sort((a, b) => (b.info.busy_ns ?? b.info.events) - (a.info.busy_ns ?? a.info.events));
    for (const lane of busiest.slice(2)) folded.add(lane.info.id);
  }
  if (layout(tree, folded).height <= budget * 2) return folded;
  const groups = [...tree.byId.values()].filter((node) => node.info.type === "process" || node.info.type === "device");
  for (const group of groups.slice(4)) folded.add(group.info.id);
  return folded;
}

/** Rows of a thread that are tried, the most first. */
const CAPS = [24, 16, 12, 8, 6, 4];
/** So much of the first stream and of what follows it is to be seen without scrolling. */
const DEVICE_ROOM = 60;
/** The rows of the host's launches, which repeat those of the threads, where room is short. */
const LAUNCH_ROWS = 3;

/**
 * The rows that threads show when nobody chose, where deep stacks would push the devices out of sight: the most that
 * leave room for the first stream of a device in `room` pixels. Lanes that show all of theirs are not told.
 */
export function defaultRows(tree: Tree, folded: ReadonlySet<number>, room: number): Map<number, number> {
  const capped = (cap: number) => {
    const sizes = new Map<number, number>();
    for (const { info } of tree.byId.values()) {
      const most = info.type === "thread" ? cap : info.type === "launches" ? Math.min(cap, LAUNCH_ROWS) : Infinity;
      if (info.rows > most) sizes.set(info.id, most);
    }
    return sizes;
  };
  const fits = (sizes: ReadonlyMap<number, number>) => {
    const { rows } = layout(tree, folded, sizes);
    const device =
      rows.find((row) => row.node.info.type === "stream") ?? rows.find((row) => row.node.info.type === "device");
    return device === undefined || device.y + DEVICE_ROOM <= room;
  };
  if (fits(NO_SIZES)) return new Map();
  return CAPS.map(capped).find(fits) ?? capped(CAPS[CAPS.length - 1]);
}

/** `changed` holds the lanes whose folding differs from the default. */
export function foldedLanes(defaults: ReadonlySet<number>, changed: readonly number[]): Set<number> {
  const folded = new Set(defaults);
  for (const id of changed) if (!folded.delete(id)) folded.add(id);
  return folded;
}

export const NO_SIZES: ReadonlyMap<number, number> = new Map();

/**
 * `sizes` holds the rows that a lane shows where those are not all, `tops` the outermost of them where they are not
 * the usual ones.
 */
export function layout(tree: Tree, folded: ReadonlySet<number>, sizes = NO_SIZES, tops = NO_SIZES): Layout {
  const nodes: LaneNode[] = [];
  const walk = (node: LaneNode) => {
    nodes.push(node);
    if (!isFolded(node, folded)) node.children.forEach(walk);
  };
  tree.roots.forEach(walk);
  return stack(nodes, folded, sizes, tops);
}

const isFolded = (node: LaneNode, folded: ReadonlySet<number>) => isFoldable(node) && folded.has(node.info.id);

/** These lanes under each other, without their children. */
export function stack(
  nodes: readonly LaneNode[],
  folded: ReadonlySet<number>,
  sizes = NO_SIZES,
  tops = NO_SIZES,
): Layout {
  const rows: LayoutRow[] = [];
  const index = new Map<number, LayoutRow>();
  let y = 0;
  for (const node of nodes) {
    const { id } = node.info;
    const row = rowOf(node, y, isFolded(node, folded), sizes.get(id), tops.get(id));
    rows.push(row);
    index.set(id, row);
    y += row.height;
  }
  return { rows, height: y, index };
}

/** Callers of the operators that a lane with fewer rows than its stacks are deep shows above them. */
const CALLERS = 3;

function rowOf(node: LaneNode, y: number, folded: boolean, size?: number, top?: number): LayoutRow {
  const row: LayoutRow = {
    node,
    y,
    height: HEADER_HEIGHT,
    kind: "header",
    rows: 0,
    first: 0,
    foldable: isFoldable(node),
    folded,
  };
  if (node.info.type === "counter") {
    row.kind = "counter";
    row.height = size === undefined ? COUNTER_HEIGHT : heightOf(size);
  } else if (hasSlices(node)) {
    const all = Math.max(1, node.info.rows);
    row.kind = "slices";
    row.rows = folded ? 1 : Math.min(all, size ?? all);
    // The outermost frames of a deep stack are those of the launcher and of the training loop, on every slice the same.
    const usual = Math.max(0, (node.info.operators ?? 0) - CALLERS);
    row.first = folded ? 0 : Math.min(top ?? usual, all - row.rows);
    row.height = heightOf(row.rows);
  }
  return row;
}

/** The height of a lane that shows so many rows. */
export const heightOf = (rows: number) => Math.max(HEADER_HEIGHT, rows * ROW_PITCH + 2 * LANE_PADDING);

/** How many rows fit into a height, at least one. */
export const rowsIn = (height: number) => Math.max(1, Math.round((height - 2 * LANE_PADDING) / ROW_PITCH));

/** The rows that are at least partly inside [top, bottom). */
export function visibleRows(all: Layout, top: number, bottom: number): LayoutRow[] {
  let from = 0;
  let to = all.rows.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (all.rows[middle].y + all.rows[middle].height > top) to = middle;
    else from = middle + 1;
  }
  let end = from;
  while (end < all.rows.length && all.rows[end].y < bottom) end += 1;
  return all.rows.slice(from, end);
}

/** Whether a lane shows the slices of a depth. */
export const shows = (row: LayoutRow, depth: number) =>
  row.kind === "slices" && depth >= row.first && depth < row.first + row.rows;

/** The upper edge of the slices of a depth, from that of the lanes. */
export const depthTop = (row: LayoutRow, depth: number) => row.y + LANE_PADDING + (depth - row.first) * ROW_PITCH;

/** The vertical middle of a slice in its lane's row. */
export const middleOf = (row: LayoutRow, depth: number) => depthTop(row, depth) + (ROW_PITCH - 1) / 2;

/** The vertical middle of a slice, or of the nearest visible lane above it in the tree; null where none is. */
export function sliceY(tree: Tree, all: Layout, lane: number, depth: number): { y: number; exact: boolean } | null {
  for (let node = tree.byId.get(lane) ?? null; node; node = node.parent) {
    const row = all.index.get(node.info.id);
    if (!row) continue;
    if (node.info.id === lane && shows(row, depth)) return { y: middleOf(row, depth), exact: true };
    if (node.info.id === lane && depth < row.first) return { y: row.y + 6, exact: false };
    return { y: row.y + row.height - 6, exact: false };
  }
  return null;
}

/** Lanes that must be unfolded for a slice to show. */
export function foldsHiding(tree: Tree, folded: ReadonlySet<number>, lane: number, depth: number): number[] {
  const hiding: number[] = [];
  const node = tree.byId.get(lane);
  if (node && depth > 0 && folded.has(lane)) hiding.push(lane);
  for (let up = node?.parent ?? null; up; up = up.parent) if (folded.has(up.info.id)) hiding.push(up.info.id);
  return hiding;
}

/** The path to a lane: "host / process / thread". */
export function lanePath(tree: Tree, lane: number): string {
  const names: string[] = [];
  for (let node = tree.byId.get(lane) ?? null; node; node = node.parent) names.unshift(isolated(node.info.name));
  return names.join(" / ");
}
