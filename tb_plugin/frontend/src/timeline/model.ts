// The state of the Timeline tab: the tree, the viewport, the selection, the tiles, and what is asked of the server.
// The viewport and the selection live in the address (state.ts); everything here follows them.

import { batch, computed, effect, signal, untracked } from "@preact/signals";
import {
  findByName,
  getResources,
  getSlice,
  getTree,
  getView,
  Importing,
  type SliceAnswer,
  type TreeAnswer,
  type WorkerKey,
} from "../api";
import { freshness, key } from "../data";
import type { Span } from "../hash";
import { Resource, sentence } from "../resource";
import { adjust, fold, navigate, slice as sliceRow, span as spanSignal } from "../state";
import { CurveStore } from "./curves";
import { splitLanes } from "./decode";
import type { SliceHit } from "./hit";
import { stillUseful, TileStore, type TileRequest } from "./tiles";
import {
  buildTree,
  defaultFold,
  foldedLanes,
  foldsHiding,
  layout,
  visibleRows,
  type Layout,
  type LaneNode,
  type Tree,
} from "./tree";
import { around, clamp, reveal, sameRange, span, type Range } from "./viewport";

const DEBOUNCE_MS = 40;
const EMPTY_TREE: Tree = { roots: [], byId: new Map() };

export interface Find {
  name: string;
  count: number;
  rows: number[];
  at: number; // index into rows
}

export class TimelineModel {
  readonly source = new Resource<TreeAnswer>();
  readonly selected = new Resource<SliceAnswer>();
  readonly find = signal<Find | null>(null);
  readonly tiles = new TileStore();
  readonly curves = new CurveStore();

  readonly width = signal(0); // of the canvas, CSS pixels
  readonly height = signal(0); // of the lanes' area
  readonly scroll = signal(0);
  readonly hover = signal<SliceHit | null>(null);
  readonly pointerX = signal<number | null>(null);
  readonly pointerY = signal(0);
  readonly measure = signal<Range | null>(null);
  readonly problem = signal(""); // the last failed request of rectangles
  readonly loading = signal(false);
  /** Counts changes of what the tiles and curves hold, for who draws them. */
  readonly drawn = signal(0);

  readonly answer = computed(() => this.source.now.value.value);
  readonly tree = computed(() => (this.answer.value ? buildTree(this.answer.value.lanes) : EMPTY_TREE));
  private readonly shape = computed(() => this.answer.value?.lanes.map((lane) => lane.id).join() ?? "");
  private readonly defaults = computed(() => {
    void this.shape.value; // a growing trace keeps its folding: only other lanes make it be chosen anew
    return defaultFold(this.tree.peek(), 900);
  });
  readonly folded = computed(() => foldedLanes(this.defaults.value, fold.value));
  readonly layout = computed<Layout>(() => layout(this.tree.value, this.folded.value));
  readonly whole = computed<Range>(() => {
    const answer = this.answer.value;
    if (!answer) return { t0: 0, t1: 1 };
    return { t0: answer.t0, t1: Math.max(answer.t1, answer.t0 + 1) };
  });
  private readonly origin = computed(() => BigInt(this.answer.value?.origin_ns ?? 0));
  readonly range = computed<Range>(() => {
    const at = spanSignal.value;
    if (!at || !this.answer.value) return this.whole.value;
    const t0 = Number(at.start - this.origin.value);
    return clamp({ t0: t0 + at.fraction, t1: t0 + at.fraction + at.width }, this.whole.value);
  });
  readonly maxScroll = computed(() => Math.max(0, this.layout.value.height - this.height.value));

  private key: WorkerKey | null = null;
  private revealed: number | null = null; // the selected row that the user has seen, by a click or by scrolling to it
  private lastHeight = 0;
  private request: { plan: TileRequest; controller: AbortController } | null = null;
  private curveRequest = false;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private events = new Map<number, string>();
  private readonly stops: (() => void)[] = [];

  /** Follow the shown worker, the viewport and the selection until `stop`. */
  start(): void {
    this.stops.push(
      effect(() => this.follow(key.value, freshness.value)),
      effect(() => {
        if (this.answer.value) this.noticeNewData(this.answer.value);
      }),
      effect(() => {
        void this.range.value;
        void this.layout.value;
        void this.width.value;
        void this.height.value;
        void this.scroll.value;
        this.schedule();
      }),
      effect(() => {
        const row = sliceRow.value;
        const at = key.value;
        if (row === null || !at) this.selected.reset();
        else if (this.selected.now.peek().value?.row !== row) void this.selected.load((s) => getSlice(at, row, s));
      }),
      effect(() => {
        const selected = this.selected.now.value.value;
        if (!selected || !this.answer.value || this.height.value === 0 || selected.row === this.revealed) return;
        this.revealed = selected.row;
        untracked(() => this.scrollTo(selected.lane, selected.depth));
      }),
      effect(() => {
        // The panel of a selection takes room from below: what was clicked must not vanish behind it.
        const height = this.height.value;
        const selected = this.selected.now.peek().value;
        if (selected && height < this.lastHeight) untracked(() => this.scrollTo(selected.lane, selected.depth));
        this.lastHeight = height;
      }),
      effect(() => {
        if (this.scroll.value > this.maxScroll.value) this.scroll.value = this.maxScroll.value;
      }),
    );
  }

  stop(): void {
    this.stops.splice(0).forEach((stop) => stop());
    this.request?.controller.abort();
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  private follow(at: WorkerKey | null, _freshness: number): void {
    if (at !== this.key) {
      this.key = at;
      this.tiles.clear();
      this.curves.clear();
      this.events.clear();
      this.request?.controller.abort();
      this.request = null;
      batch(() => {
        this.source.reset();
        this.selected.reset();
        this.find.value = null;
        this.hover.value = null;
        this.measure.value = null;
        this.scroll.value = 0;
        this.problem.value = "";
      });
    }
    if (at) void this.source.load((s) => getTree(at, s));
  }

  /** Lanes whose contents grew are fetched again; the rest keeps its tiles. */
  private noticeNewData(answer: TreeAnswer): void {
    for (const lane of answer.lanes) {
      const text = `${lane.events}/${lane.busy_ns}/${lane.rows}`;
      const before = this.events.get(lane.id);
      if (before !== undefined && before !== text) this.tiles.touch(lane.id);
      this.events.set(lane.id, text);
    }
    this.schedule();
  }

  // ---- viewport ----

  setRange(range: Range): void {
    const whole = this.whole.peek();
    const to = clamp(range, whole);
    adjust({ span: span(to) >= span(whole) ? null : this.spanOf(to) });
  }

  showAll(): void {
    adjust({ span: null });
  }

  private spanOf(range: Range): Span {
    const whole = Math.floor(range.t0);
    return { start: this.origin.peek() + BigInt(whole), fraction: range.t0 - whole, width: span(range) };
  }

  /** Zoom to an interval, with room around it. */
  zoomTo(start: number, end: number): void {
    this.setRange(around(start, end, this.whole.peek()));
  }

  setScroll(y: number): void {
    this.scroll.value = Math.min(Math.max(0, y), this.maxScroll.peek());
  }

  /** Bring a lane's depth into the vertical view, unfolding what hides it. */
  private scrollTo(lane: number, depth: number): void {
    const hidden = foldsHiding(this.tree.peek(), this.folded.peek(), lane, depth);
    if (hidden.length > 0) this.toggleFold(hidden);
    const row = this.layout.peek().index.get(lane);
    if (!row) return;
    const top = row.y + depth * 17;
    const scroll = this.scroll.peek();
    if (top < scroll + 10 || top + 30 > scroll + this.height.peek()) this.setScroll(top - this.height.peek() / 3);
  }

  // ---- folding ----

  toggleFold(lanes: readonly number[]): void {
    const changed = new Set(fold.peek());
    for (const id of lanes) if (!changed.delete(id)) changed.add(id);
    adjust({ fold: [...changed] });
  }

  toggle(node: LaneNode): void {
    this.toggleFold([node.info.id]);
  }

  // ---- selection ----

  select(row: number | null): void {
    this.revealed = row; // the user clicks what is in view
    adjust({ slice: row });
  }

  /** Select another slice and bring it into view, as a step that Back undoes. */
  async jump(row: number, known?: { lane: number; depth: number; start: number; dur: number }): Promise<void> {
    const at = this.key;
    if (!at) return;
    let target = known;
    if (!target) {
      try {
        target = await getSlice(at, row);
      } catch (error) {
        this.problem.value = sentence(error);
        return;
      }
      if (at !== this.key) return;
    }
    const to = reveal(this.range.peek(), this.whole.peek(), target.start, target.start + target.dur);
    batch(() => {
      navigate({ slice: row, ...(sameRange(to, this.range.peek()) ? {} : { span: this.spanOf(to) }) });
      this.scrollTo(target.lane, target.depth);
    });
  }

  /** All slices with the name of the selected one; then step through them. */
  async findSame(): Promise<void> {
    const slice = this.selected.now.peek().value;
    const at = this.key;
    if (!slice || !at) return;
    try {
      const { count, rows } = await findByName(at, slice.name);
      this.find.value = { name: slice.name, count, rows, at: Math.max(0, rows.indexOf(slice.row)) };
    } catch (error) {
      this.problem.value = sentence(error);
    }
  }

  async stepFound(by: 1 | -1): Promise<void> {
    const slice = this.selected.now.peek().value;
    if (slice && this.find.peek()?.name !== slice.name) await this.findSame();
    const found = this.find.peek();
    if (!found || found.rows.length === 0) return;
    const here = slice ? found.rows.indexOf(slice.row) : -1;
    const from = here >= 0 ? here : found.at;
    const at = (from + by + found.rows.length) % found.rows.length;
    this.find.value = { ...found, at };
    await this.jump(found.rows[at]);
  }

  // ---- requests ----

  /** Ask for what is missing once the view has rested for a moment. */
  private schedule(): void {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      void this.fetchTiles();
      void this.fetchCurves();
    }, DEBOUNCE_MS);
  }

  visibleLanes(): number[] {
    const top = this.scroll.peek();
    return visibleRows(this.layout.peek(), top - 200, top + this.height.peek() + 200)
      .filter((row) => row.kind === "slices")
      .map((row) => row.node.info.id);
  }

  /** One request at a time: the server is not flooded while the user moves, and each answer plans the next. */
  private async fetchTiles(): Promise<void> {
    const at = this.key;
    const px = this.width.peek();
    if (!at || !this.answer.peek() || px === 0) return;
    const view = this.range.peek();
    if (this.request) {
      if (stillUseful(this.request.plan, view, px)) return;
      this.request.controller.abort();
      this.request = null;
    }
    const plan = this.tiles.plan(view, px, this.visibleLanes(), this.whole.peek());
    this.loading.value = plan?.purpose === "detail";
    if (!plan) return;
    const controller = new AbortController();
    const mine = { plan, controller };
    this.request = mine;
    try {
      const table = await getView(at, plan, plan.px, plan.lanes, controller.signal);
      if (this.request !== mine) return;
      this.tiles.accept(plan, splitLanes(table), this.whole.peek());
      this.problem.value = "";
      this.drawn.value += 1;
    } catch (error) {
      if (this.request !== mine || controller.signal.aborted) return;
      this.request = null;
      this.loading.value = false;
      if (!(error instanceof Importing)) this.problem.value = sentence(error);
      setTimeout(() => this.schedule(), 3000);
      return;
    }
    this.request = null;
    void this.fetchTiles();
  }

  private async fetchCurves(): Promise<void> {
    const at = this.key;
    if (!at || this.curveRequest || !this.answer.peek()?.lanes.some((lane) => lane.type === "counter")) return;
    const plan = this.curves.plan(this.range.peek(), this.whole.peek());
    if (!plan) return;
    this.curveRequest = true;
    try {
      const answer = await getResources(at, plan.range, plan.points);
      if (at === this.key) {
        this.curves.accept(plan, answer);
        this.drawn.value += 1;
      }
    } catch (error) {
      if (!(error instanceof Importing)) this.problem.value = sentence(error);
      setTimeout(() => this.schedule(), 3000);
      return;
    } finally {
      this.curveRequest = false;
    }
    void this.fetchCurves();
  }
}

/** One for the page: leaving the tab and coming back keeps the tiles. */
export const timeline = new TimelineModel();
