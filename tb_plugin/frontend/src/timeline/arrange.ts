// The tree as the user wants it: children in another order, lanes filtered by text, idle threads put away.

import type { LaneInfo } from "../api";
import type { Pair } from "../hash";
import { lanePath, type LaneNode, type Tree } from "./tree";

export interface Wishes {
  moves: readonly Pair[];
  filter: string;
  idle: boolean; // show idle threads
  keep: ReadonlySet<number>; // lanes that are shown though they are idle
}

/** A thread is idle if it is busy for less than this share of the busiest thread beside it. */
const IDLE_SHARE = 0.001;
/** The row that stands for hidden idle threads. Lane ids are not negative. */
export const moreId = (parent: number) => -2 - parent;
export const isMore = (info: LaneInfo) => info.type === "more";

export interface Arranged {
  tree: Tree;
  hidden: number; // idle threads that are put away
  matches: number; // lanes that the filter found, -1 without a filter
}

export function arrange(tree: Tree, wishes: Wishes): Arranged {
  const words = wishes.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const matching = words.length > 0 ? new Set<number>() : null;
  if (matching) {
    for (const node of tree.byId.values()) {
      const path = lanePath(tree, node.info.id).toLowerCase();
      if (words.every((word) => path.includes(word))) matching.add(node.info.id);
    }
  }
  const byId = new Map<number, LaneNode>();
  let hidden = 0;
  const copy = (node: LaneNode, parent: LaneNode | null): LaneNode | null => {
    const made: LaneNode = { info: node.info, level: node.level, parent, children: [] };
    byId.set(node.info.id, made);
    const idle = wishes.idle || matching ? null : idleChildren(node, wishes.keep);
    for (const child of ordered(node.children, wishes.moves)) {
      if (idle?.has(child.info.id)) continue;
      const kept = copy(child, made);
      if (kept) made.children.push(kept);
    }
    if (idle && idle.size > 0) {
      hidden += idle.size;
      insertMore(made, idle.size, byId);
    }
    if (matching && !matching.has(node.info.id) && made.children.length === 0) {
      byId.delete(node.info.id);
      return null;
    }
    return made;
  };
  const roots = ordered(tree.roots, wishes.moves).flatMap((root) => copy(root, null) ?? []);
  return { tree: { roots, byId }, hidden, matches: matching ? matching.size : -1 };
}

/** Threads that did next to nothing; none where hiding them would not save a row. */
export function idleChildren(node: LaneNode, keep: ReadonlySet<number>): Set<number> {
  const threads = node.children.filter((child) => child.info.type === "thread" && child.children.length === 0);
  if (node.info.type === "group" || node.info.type === "pool" || threads.length < 3) return new Set();
  let most = 0;
  for (const { info } of threads) most = Math.max(most, info.busy_ns ?? 0);
  const idle = threads.filter(({ info }) => (info.busy_ns ?? 0) < most * IDLE_SHARE && !keep.has(info.id));
  return new Set(idle.length > 1 ? idle.map((child) => child.info.id) : []);
}

/** After the last thread: that is where the hidden ones would stand. */
function insertMore(parent: LaneNode, count: number, byId: Map<number, LaneNode>): void {
  const info: LaneInfo = {
    id: moreId(parent.info.id),
    parent: parent.info.id,
    type: "more",
    name: `${count.toLocaleString("en-US")} idle threads`,
    rows: 0,
    events: 0,
    busy_ns: null,
  };
  const node: LaneNode = { info, level: parent.level + 1, parent, children: [] };
  let at = parent.children.length;
  while (at > 0 && parent.children[at - 1].info.type !== "thread") at -= 1;
  parent.children.splice(at, 0, node);
  byId.set(info.id, node);
}

function ordered(nodes: readonly LaneNode[], moves: readonly Pair[]): readonly LaneNode[] {
  if (moves.length === 0 || nodes.length < 2) return nodes;
  let list = [...nodes];
  for (const [lane, before] of moves) {
    const node = list.find((one) => one.info.id === lane);
    if (!node) continue;
    const rest = list.filter((one) => one !== node);
    const at = before === 0 ? rest.length : rest.findIndex((one) => one.info.id === before);
    if (at < 0) continue;
    list = [...rest.slice(0, at), node, ...rest.slice(at)];
  }
  return list;
}

/** The moves with one more; earlier ones of the same lane no longer matter. */
export function withMove(moves: readonly Pair[], lane: number, before: number): Pair[] {
  return [...moves.filter(([moved]) => moved !== lane), [lane, before]];
}
