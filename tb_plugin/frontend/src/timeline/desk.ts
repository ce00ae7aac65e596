// How the user arranges the timeline: folding, order, pins, sizes, colours, arrows, comparison. All of it goes to the
// address.

import { shown } from "../data";
import { COLORINGS, type Pair } from "../hash";
import { adjust, nav } from "../state";
import { withMove } from "./arrange";
import type { TimelineModel } from "./model";
import { isFoldable, type LaneNode, type LayoutRow } from "./tree";

export class Desk {
  constructor(private readonly model: TimelineModel) {}

  toggleFold(lanes: readonly number[]): void {
    const changed = new Set(nav.peek().fold);
    for (const id of lanes) if (!changed.delete(id)) changed.add(id);
    adjust({ fold: [...changed] });
  }

  toggle(node: LaneNode): void {
    if (node.info.type === "more") this.toggleIdle();
    else this.toggleFold([node.info.id]);
  }

  /** Fold every group and lane that can be, or unfold them all. */
  foldAll(folded: boolean): void {
    const lanes = [...this.model.tree.peek().byId.values()].filter(
      (node) => isFoldable(node) && node.level > 0 && this.model.folded.peek().has(node.info.id) !== folded,
    );
    this.toggleFold(lanes.map((node) => node.info.id));
  }

  toggleIdle(): void {
    this.model.kept.value = new Set();
    const idle = !nav.peek().idle;
    adjust({ idle });
    this.model.said.value = idle ? "Idle threads are shown" : "Idle threads are hidden";
  }

  togglePin(lane: number): void {
    const pins = nav.peek().pins;
    const on = pins.includes(lane);
    adjust({ pins: on ? pins.filter((id) => id !== lane) : [...pins, lane] });
    this.model.said.value = `${this.model.tree.peek().byId.get(lane)?.info.name ?? "Lane"} ${on ? "unpinned" : "pinned to the top"}`;
  }

  /** Show so many rows of a lane, or as many as it usually does. */
  resize(lane: number, rows: number | null): void {
    const usual = this.model.usualRows.peek().get(lane) ?? this.model.tree.peek().byId.get(lane)?.info.rows;
    const rest = nav.peek().sizes.filter(([id]) => id !== lane);
    const isUsual = rows === null || rows === usual;
    adjust({
      sizes: isUsual ? rest : [...rest, [lane, rows]],
      ...(rows === null ? { tops: this.otherTops(lane) } : {}),
    });
  }

  /** Show the rows of a lane from this depth on, as far as there are so many. */
  showFrom(row: LayoutRow, depth: number): void {
    const { id, rows } = row.node.info;
    const first = Math.max(0, Math.min(depth, rows - row.rows));
    if (row.kind === "slices" && !row.folded && first !== row.first) {
      adjust({ tops: [...this.otherTops(id), [id, first]] });
    }
  }

  private otherTops(lane: number): readonly Pair[] {
    return nav.peek().tops.filter(([id]) => id !== lane);
  }

  /** Move a lane up or down among those beside it. */
  move(lane: number, by: 1 | -1): void {
    const node = this.model.arranged.peek().tree.byId.get(lane);
    if (!node) return;
    const beside = (node.parent?.children ?? this.model.arranged.peek().tree.roots).filter(
      (n) => n.info.type !== "more",
    );
    const at = beside.indexOf(node);
    const target = by < 0 ? beside[at - 1] : beside[at + 1];
    if (!target) return;
    if (by < 0) this.moveBefore(lane, target.info.id);
    else this.moveBefore(lane, beside[at + 2]?.info.id ?? 0);
    this.model.said.value = `${node.info.name} moved ${by < 0 ? "up" : "down"}`;
  }

  moveBefore(lane: number, before: number): void {
    adjust({ moves: withMove(nav.peek().moves, lane, before) });
  }

  nextColoring(): void {
    const at = COLORINGS.indexOf(nav.peek().color);
    const color = COLORINGS[(at + 1) % COLORINGS.length];
    adjust({ color });
    this.model.said.value = `Coloured by ${color}`;
  }

  toggleArrows(): void {
    const arrows = nav.peek().arrows === "all" ? "selected" : "all";
    adjust({ arrows });
    this.model.said.value = arrows === "all" ? "All arrows in view" : "Arrows of the selected slice";
  }

  /** Compare a lane over the workers of the run, aligned at the step in the middle of the view; again: stop. */
  toggleCompare(lane: number): void {
    if (nav.peek().compare?.lane === lane) {
      adjust({ compare: null, of: null, ...(nav.peek().of === null ? {} : { slice: null }) });
      this.model.said.value = "The comparison has ended";
      return;
    }
    const workers = shown.peek().run?.workers.length ?? 0;
    const info = this.model.tree.peek().byId.get(lane)?.info;
    if (workers < 2 || !info || info.rows === 0) {
      this.model.said.value = workers < 2 ? "This run has one worker: nothing to compare" : "This lane has no slices";
      return;
    }
    this.model.said.value = `${info.name} compared over ${workers} workers`;
    const { t0, t1 } = this.model.range.peek();
    const steps = this.model.answer.peek()?.steps;
    adjust({ compare: { lane, step: steps?.id[Math.max(0, this.model.stepAt((t0 + t1) / 2))] ?? null } });
  }
}
