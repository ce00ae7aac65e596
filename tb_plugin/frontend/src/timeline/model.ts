// The state of the Timeline tab: the tree, the viewport, the selection, the tiles, and what is asked of the server.
// The viewport and the selection live in the address (state.ts); everything here follows them.

import { batch, computed, effect, signal, untracked } from "@preact/signals";
import {
  findByName,
  getArea,
  getNeighbour,
  getSlice,
  getTree,
  type AreaAnswer,
  type ArrowsAnswer,
  type SliceAnswer,
  type TreeAnswer,
  type WorkerKey,
} from "../api";
import { freshness, key, shown } from "../data";
import { type Area, type Span } from "../hash";
import { here } from "../here";
import { answered, Resource, sentence } from "../resource";
import { adjust, nav, navigate, openWorker, part, slice as sliceRow, span as spanSignal } from "../state";
import { arrange, type Arranged } from "./arrange";
import { clearGroups, isByGroup } from "./coloring";
import { Comparison, isPeer, MOST_PEERS, peerRow } from "./compare";
import { CurveStore } from "./curves";
import { Finder } from "./finder";
import { Desk } from "./desk";
import type { SliceHit } from "./hit";
import { Requests } from "./requests";
import { bandsOf, lowerBound, type Band } from "./scene";
import { TileStore } from "./tiles";
import {
  buildTree,
  defaultFold,
  defaultRows,
  depthTop,
  foldedLanes,
  foldsHiding,
  layout,
  shows,
  stack,
  visibleRows,
  type Layout,
  type LayoutRow,
  type Tree,
} from "./tree";
import { around, clamp, intersect, reveal, sameRange, span, type Range } from "./viewport";

const STATISTICS_MS = 40; // an area's numbers are asked for when its edges have rested so long
const EMPTY_TREE: Tree = { roots: [], byId: new Map() };

export type PanelView = "selection" | "area" | "in-view";

const fold = part("fold");
const area = part("area");

export interface Find {
  name: string;
  count: number;
  rows: number[];
  at: number; // index into rows
}

/** Pixels of the lanes, at the least; and of all that stands above and below them in the window. */
const LEAST_ROOM = 520;
const AROUND_LANES = 216;

export class TimelineModel {
  readonly source = new Resource<TreeAnswer>();
  readonly selected = new Resource<SliceAnswer>();
  readonly find = signal<Find | null>(null);
  readonly tiles = new TileStore();
  readonly curves = new CurveStore();

  readonly finder = new Finder();
  readonly comparison = new Comparison();
  readonly statistics = new Resource<AreaAnswer>();
  readonly flows = signal<ArrowsAnswer | null>(null); // all arrows in view, where they are wished for
  readonly panel = signal<PanelView>("selection");

  readonly width = signal(0); // of the canvas, CSS pixels
  readonly space = signal(0); // height of the lanes' area, pinned ones included
  readonly scroll = signal(0);
  readonly pinScroll = signal(0);
  readonly hover = signal<SliceHit | null>(null);
  readonly pointerX = signal<number | null>(null);
  readonly pointerY = signal(0);
  readonly problem = signal(""); // the last failed request of rectangles
  readonly notice = signal(""); // what the user asked for and did not get
  readonly loading = signal(false);
  readonly said = signal(""); // told to screen readers
  /** Counts changes of what the tiles and curves hold, for who draws them. */
  readonly drawn = signal(0);

  readonly answer = computed(() => this.source.now.value.value);
  readonly tree = computed(() => (this.answer.value ? buildTree(this.answer.value.lanes) : EMPTY_TREE));
  readonly kept = signal<ReadonlySet<number>>(new Set()); // idle lanes that something led to
  private readonly shape = computed(() => this.answer.value?.lanes.map((lane) => lane.id).join() ?? "");
  private readonly moves = part("moves");
  private readonly filter = part("filter");
  private readonly idle = part("idle");
  private readonly pins = part("pins");
  private readonly sizeList = part("sizes");
  private readonly topList = part("tops");
  readonly sizes = computed(() => new Map([...this.defaults.value.rows, ...this.sizeList.value]));
  readonly arranged = computed<Arranged>(() =>
    arrange(this.tree.value, {
      moves: this.moves.value,
      filter: this.filter.value,
      idle: this.idle.value,
      keep: this.kept.value,
    }),
  );
  private readonly defaults = computed(() => {
    void this.shape.value; // a growing trace keeps its folding: only other lanes make it be chosen anew
    const wishes = { moves: [], filter: "", idle: false, keep: new Set<number>() };
    const { tree } = arrange(this.tree.peek(), wishes);
    const folded = defaultFold(tree, 900);
    return { folded, rows: defaultRows(tree, folded, Math.max(LEAST_ROOM, innerHeight - AROUND_LANES)) };
  });
  /** The rows of lanes that show fewer than they have until the user wants others. */
  readonly usualRows = computed<ReadonlyMap<number, number>>(() => this.defaults.value.rows);
  readonly folded = computed(() => {
    const folded = foldedLanes(this.defaults.value.folded, fold.value);
    // What a filter finds must show: groups are open while there is one.
    if (this.filter.value !== "") {
      for (const id of folded) if (this.tree.value.byId.get(id)?.children.length) folded.delete(id);
    }
    return folded;
  });
  private readonly tops = computed(() => new Map(this.topList.value));
  readonly layout = computed<Layout>(() =>
    layout(this.arranged.value.tree, this.folded.value, this.sizes.value, this.tops.value),
  );
  /** Lanes that stay on top: pinned ones, then those of the comparison. */
  readonly pinned = computed<Layout>(() => {
    const pins = this.pins.value.flatMap((id) => this.tree.value.byId.get(id) ?? []);
    const peers = this.comparison.nodes(this.tree.value);
    // Those of other workers show the rows that the compared lane does.
    const withPeers = (of: ReadonlyMap<number, number>) => {
      const value = of.get(this.compared.value?.lane ?? NaN);
      return value === undefined ? of : new Map([...of, ...peers.map(({ info }) => [info.id, value] as const)]);
    };
    const [sizes, tops] = [withPeers(this.sizes.value), withPeers(this.tops.value)];
    return stack([...pins, ...peers], this.folded.value, sizes, tops);
  });
  readonly pinnedHeight = computed(() => Math.min(this.pinned.value.height, Math.floor(this.space.value * 0.6)));
  readonly height = computed(() => Math.max(0, this.space.value - this.pinnedHeight.value)); // of the scrolled lanes
  readonly bands = computed<Band[]>(() =>
    bandsOf(
      this.pinned.value,
      this.pinScroll.value,
      this.pinnedHeight.value,
      this.layout.value,
      this.scroll.value,
      this.height.value,
    ),
  );
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
  /** The marked interval. */
  readonly measure = computed<Range | null>(() => {
    const at = area.value;
    if (!at || !this.answer.value) return null;
    const t0 = Number(at.start - this.origin.value);
    return { t0, t1: t0 + at.width };
  });
  /** The selected slice where it is drawn: one of another worker on its row of the comparison. */
  readonly selectedHere = computed<SliceAnswer | null>(() => {
    const slice = this.selected.now.value.value;
    const answer = this.answer.value;
    const of = this.of.value;
    if (!slice || of === null || !answer) return slice;
    const peer = this.comparison.ofWorker(of);
    const shift = peer && this.comparison.shift(peer, answer);
    if (!peer || shift === null) return null;
    return { ...slice, lane: peer.id, start: slice.start - shift, connections: [] };
  });
  private readonly of = part("of");
  private readonly coloring = part("color");
  private readonly arrows = part("arrows");
  private readonly compared = part("compare");

  key: WorkerKey | null = null; // the shown worker
  readonly requests = new Requests(this);
  readonly desk = new Desk(this);
  private revealed: number | null = null; // the selected row that the user has seen, by a click or by scrolling to it
  private clicked: SliceHit | null = null; // where the selected slice was clicked: some are shown on two lanes
  private stamp = -1; // of the data that the tree was asked of
  private lastHeight = 0;
  private selectedOf = ""; // what the selected slice was asked for with
  private jumping: number | null = null; // to this row, once it is known where it is
  private finding = {}; // another object once slices of one name are asked for again
  /** The worker whose groups the server has made ahead: its slices come with them, and need not be asked for again. */
  groupsOf: WorkerKey | null = null;
  private statisticsTimer: ReturnType<typeof setTimeout> | null = null;
  private events = new Map<number, string>();
  private readonly stops: (() => void)[] = [];

  /** Follow the shown worker, the viewport and the selection until `stop`. */
  start(): void {
    this.stops.push(
      effect(() => void this.follow(key.value, freshness.value)),
      effect(() => {
        const answer = this.answer.value;
        if (answer) untracked(() => this.noticeNewData(answer));
      }),
      effect(() => {
        void this.range.value;
        void this.layout.value;
        void this.pinned.value;
        void this.pinScroll.value;
        void this.width.value;
        void this.height.value;
        void this.scroll.value;
        this.requests.schedule();
      }),
      effect(() => {
        const row = sliceRow.value;
        const of = this.of.value;
        const at = key.value && { ...key.value, worker: of ?? key.value.worker };
        const asked = JSON.stringify([at, row]);
        if (row === null || !at) this.selected.reset();
        else if (asked !== this.selectedOf || this.selected.now.peek().state === "error") {
          void this.selected.load((s) => getSlice(at, row, s));
        }
        this.selectedOf = asked;
      }),
      effect(() => {
        if (sliceRow.value !== null) this.panel.value = "selection";
      }),
      effect(() => {
        const at = key.value;
        const lanes = area.value?.lanes ?? null;
        const range = this.measure.value;
        if (this.statisticsTimer !== null) clearTimeout(this.statisticsTimer);
        if (!at || !range) this.statistics.reset();
        else {
          const load = () => void this.statistics.load((s) => getArea(at, range, lanes, s));
          this.statisticsTimer = setTimeout(load, STATISTICS_MS);
        }
      }),
      effect(() => {
        if (area.value === null && this.panel.peek() === "area") this.panel.value = "selection";
      }),
      effect(() => {
        const needsGroups = isByGroup(this.coloring.value);
        untracked(() => {
          if (needsGroups) this.tiles.needGroups();
          this.drawn.value += 1;
          this.requests.schedule();
        });
      }),
      effect(() => {
        void this.compared.value;
        untracked(() => {
          this.requests.dropTiles(); // those under way are aligned as before
          for (let i = 0; i < MOST_PEERS; i += 1) this.tiles.drop(peerRow(i));
          this.requests.schedule();
        });
      }),
      effect(() => {
        void this.arrows.value;
        this.requests.schedule();
      }),
      this.finder.start(() => key.value),
      effect(() => {
        const selected = this.selected.now.value.value;
        if (this.of.peek() !== null) return;
        if (!selected || !this.answer.value || this.height.value === 0 || selected.row === this.revealed) return;
        this.revealed = selected.row;
        untracked(() => this.scrollTo(selected.lane, selected.depth));
      }),
      effect(() => {
        // The panel of a selection takes room from below: what was clicked must not vanish behind it.
        const height = this.height.value;
        const selected = this.selected.now.peek().value;
        const at = this.clicked?.slices.row[this.clicked.index] === selected?.row ? this.clicked : selected;
        if (at && this.of.peek() === null && height < this.lastHeight)
          untracked(() => this.scrollTo(at.lane, at.depth));
        this.lastHeight = height;
      }),
      effect(() => {
        if (this.scroll.value > this.maxScroll.value) this.scroll.value = this.maxScroll.value;
        const most = Math.max(0, this.pinned.value.height - this.pinnedHeight.value);
        if (this.pinScroll.value > most) this.pinScroll.value = most;
      }),
    );
  }

  stop(): void {
    this.stops.splice(0).forEach((stop) => stop());
    this.requests.stop();
  }

  /** Fetch what the tab begins with, before it is opened. */
  async prepare(at: WorkerKey, stamp: number, width: number): Promise<void> {
    if (this.stops.length > 0) return;
    if (this.width.peek() === 0) {
      // Near enough for the first rectangles.
      this.width.value = width;
      this.space.value = Math.max(0, innerHeight - AROUND_LANES);
    }
    await this.follow(at, stamp);
    this.requests.schedule();
  }

  private async follow(at: WorkerKey | null, stamp: number): Promise<void> {
    if (at !== this.key) {
      this.key = at;
      this.stamp = -1;
      this.tiles.clear();
      this.curves.clear();
      this.events.clear();
      this.requests.reset();
      clearGroups();
      batch(() => {
        this.source.reset();
        this.selected.reset();
        this.selectedOf = "";
        this.comparison.reset();
        this.flows.value = null;
        this.kept.value = new Set();
        this.find.value = null;
        this.hover.value = null;
        this.scroll.value = 0;
        this.pinScroll.value = 0;
        this.problem.value = "";
        this.notice.value = "";
      });
    }
    // The tab is opened again, and nothing has changed.
    const isThere = this.source.busy || this.source.now.peek().state === "ready";
    if (!at || (stamp === this.stamp && isThere)) return;
    this.stamp = stamp;
    await this.source.load((s) => getTree(at, this.source.now.peek().value, s), true);
  }

  /** Lanes whose contents grew are fetched again, and what was searched is searched again; the rest keeps its tiles. */
  private noticeNewData(answer: TreeAnswer): void {
    let grown = false;
    for (const lane of answer.lanes) {
      const text = `${lane.events}/${lane.busy_ns}/${lane.rows}`;
      const before = this.events.get(lane.id);
      if (before !== undefined && before !== text) {
        this.tiles.touch(lane.id);
        grown = true;
      }
      this.events.set(lane.id, text);
    }
    if (grown) this.curves.work.touch();
    if (grown) void this.finder.refresh();
    if (grown && this.find.peek()) void this.findSame();
    this.requests.schedule();
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

  /** The lanes of the marked interval; null: all. */
  get marked(): readonly number[] | null {
    return area.peek()?.lanes ?? null;
  }

  /** Mark an interval, on some lanes (and those below) or on all; null takes the mark away. */
  mark(range: Range | null, lanes: readonly number[] | null = null): void {
    if (!range) {
      adjust({ area: null, among: false });
      return;
    }
    const { start, fraction, width } = this.spanOf(intersect(range, this.whole.peek()));
    const made: Area = { start, width: Math.max(1, Math.round(width + fraction)), lanes };
    adjust({ area: made });
  }

  /** The steps that begin in the marked interval or hold its start, in the Step breakdown. */
  openArea(): void {
    if (area.peek()) navigate({ tab: "steps", among: true });
    else this.said.value = "Mark an interval first";
  }

  /** The step that holds a time, else the last one before it; -1 before all. */
  stepAt(t: number): number {
    const start = this.answer.peek()?.steps.start ?? [];
    return lowerBound(start, Math.floor(t) + 1) - 1;
  }

  /** Move to the next or previous step: it takes the place of the one in the middle of the view. */
  moveStep(by: 1 | -1): void {
    const steps = this.answer.peek()?.steps;
    if (!steps || steps.start.length === 0) return;
    const { t0, t1 } = this.range.peek();
    const here = this.stepAt((t0 + t1) / 2);
    const to = Math.min(Math.max(here + by, 0), steps.start.length - 1);
    if (here < 0 || t1 - t0 > 4 * Math.max(1, steps.end[here] - steps.start[here])) {
      this.zoomTo(steps.start[to], steps.end[to]);
    } else {
      const shift = steps.start[to] - steps.start[here];
      this.setRange({ t0: t0 + shift, t1: t1 + shift });
    }
    this.said.value = `Step ${steps.id[to] ?? to + 1}`;
  }

  /** Go to the step of a number; false if there is none. */
  goToStep(number: number): boolean {
    const steps = this.answer.peek()?.steps;
    const at = steps ? steps.id.indexOf(number) : -1;
    if (!steps || at < 0) return false;
    navigate({});
    this.zoomTo(steps.start[at], steps.end[at]);
    this.said.value = `Step ${number}`;
    return true;
  }

  setPinScroll(y: number): void {
    this.pinScroll.value = Math.min(Math.max(0, y), this.pinned.peek().height - this.pinnedHeight.peek());
  }

  setScroll(y: number): void {
    this.scroll.value = Math.min(Math.max(0, y), this.maxScroll.peek());
  }

  /** Bring a lane's depth into the vertical view, unfolding what hides it. */
  private scrollTo(lane: number, depth: number): void {
    if (isPeer(lane)) return;
    if (!this.arranged.peek().tree.byId.has(lane)) {
      if (this.filter.peek() !== "") adjust({ filter: "" });
      if (!this.arranged.peek().tree.byId.has(lane)) this.kept.value = new Set([...this.kept.peek(), lane]);
    }
    const hidden = foldsHiding(this.tree.peek(), this.folded.peek(), lane, depth);
    if (hidden.length > 0) this.desk.toggleFold(hidden);
    const cut = this.layout.peek().index.get(lane);
    if (cut && !shows(cut, depth)) this.desk.showFrom(cut, depth - (cut.rows >> 1));
    const row = this.layout.peek().index.get(lane);
    if (!row) return;
    const top = depthTop(row, depth);
    const scroll = this.scroll.peek();
    if (top < scroll + 10 || top + 30 > scroll + this.height.peek()) this.setScroll(top - this.height.peek() / 3);
  }

  // ---- selection ----

  /** `hit` is the rectangle that was clicked. */
  select(row: number | null, hit: SliceHit | null = null): void {
    const lane = hit?.lane ?? null;
    const peer = lane !== null && isPeer(lane) ? this.comparison.of(lane) : null;
    const own = !peer || peer.worker === this.key?.worker;
    this.revealed = row; // the user clicks what is in view
    this.clicked = hit;
    adjust({ slice: row, of: own ? null : peer.worker });
  }

  /** The timeline of another worker, at the slice that is selected of it. */
  openPeer(worker: string): void {
    const run = shown.peek().run;
    const { slice, span: at } = nav.peek();
    const selected = this.selected.now.peek().value;
    if (!run) return;
    openWorker(run.id, worker);
    const width = at?.width ?? span(this.range.peek());
    const middle = selected && BigInt(selected.origin_ns) + BigInt(Math.round(selected.start + selected.dur / 2));
    const start = middle === null ? null : middle - BigInt(Math.round(width / 2));
    adjust({ slice, span: start === null ? null : { start, fraction: 0, width } });
  }

  /** The slice before or after the selected one in its row. */
  async neighbour(by: 1 | -1): Promise<void> {
    const row = sliceRow.peek();
    const at = this.key;
    if (row === null || !at || this.of.peek() !== null) return;
    const isStillHere = here();
    try {
      const { slice } = await answered(() => getNeighbour(at, row, by));
      if (!isStillHere()) return;
      if (slice) await this.jump(slice.row, slice);
      else this.said.value = by > 0 ? "This is the last slice of its row" : "This is the first slice of its row";
    } catch (error) {
      if (isStillHere()) this.notice.value = sentence(error);
    }
  }

  /** To the next or previous hit of the search; without a search to slices of the same name. */
  async stepHit(by: 1 | -1): Promise<void> {
    if (this.finder.text.peek() === "") return this.stepFound(by);
    const selected = this.of.peek() === null ? this.selected.now.peek().value : null;
    const isStillHere = here();
    const hit = await this.finder.step(by, selected?.start ?? this.range.peek().t0);
    if (hit && isStillHere()) await this.jump(hit.row, hit);
  }

  /** Make all slices of the selected one's name stand out, or no longer. */
  toggleHighlight(): void {
    const name = this.selected.now.peek().value?.name;
    const { text, rules } = this.finder;
    if (name === undefined || (text.peek() === name && rules.peek().includes("e"))) this.finder.set("");
    else this.finder.set(name, "e");
  }

  /** Select another slice and bring it into view, as a step that Back undoes. */
  async jump(row: number, known?: { lane: number; depth: number; start: number; dur: number }): Promise<void> {
    const at = this.key;
    if (!at) return;
    let target = known;
    if (!target && this.jumping === row) return;
    this.jumping = known ? null : row;
    if (!target) {
      const isHere = here();
      const isStillHere = () => this.jumping === row && isHere();
      try {
        target = await answered(() => getSlice(at, row));
      } catch (error) {
        if (isStillHere()) this.notice.value = sentence(error);
        if (this.jumping === row) this.jumping = null;
        return;
      }
      const isWanted = isStillHere();
      if (this.jumping === row) this.jumping = null;
      if (!isWanted) return;
    }
    const to = reveal(this.range.peek(), this.whole.peek(), target.start, target.start + target.dur);
    batch(() => {
      navigate({ slice: row, of: null, ...(sameRange(to, this.range.peek()) ? {} : { span: this.spanOf(to) }) });
      this.scrollTo(target.lane, target.depth);
    });
  }

  /** All slices with the name of the selected one; then step through them. */
  async findSame(): Promise<void> {
    const slice = this.selected.now.peek().value;
    const at = this.key;
    if (!slice || !at) return;
    const mine = (this.finding = {});
    // In a running job another slice of this name may have been selected meanwhile.
    const now = () => (mine === this.finding && at === this.key ? this.selected.now.peek().value : null);
    try {
      const { count, rows } = await answered(() => findByName(at, slice.name));
      const selected = now();
      if (selected?.name !== slice.name) return;
      this.find.value = { name: slice.name, count, rows, at: Math.max(0, rows.indexOf(selected.row)) };
    } catch (error) {
      if (now()) this.notice.value = sentence(error);
    }
  }

  async stepFound(by: 1 | -1): Promise<void> {
    const slice = this.selected.now.peek().value;
    const isStillHere = here();
    if (slice && this.find.peek()?.name !== slice.name) await this.findSame();
    const found = this.find.peek();
    if (!found || found.rows.length === 0 || !isStillHere()) return;
    if (slice && found.name !== slice.name) return; // it could not be asked for
    const place = slice ? found.rows.indexOf(slice.row) : -1;
    const from = place >= 0 ? place : found.at;
    const at = (from + by + found.rows.length) % found.rows.length;
    this.find.value = { ...found, at };
    await this.jump(found.rows[at]);
  }

  // ---- what is in view ----

  /** The rows of lanes on the screen and a little beyond. */
  private visible(): LayoutRow[] {
    const top = this.scroll.peek();
    const pinTop = this.pinScroll.peek();
    return [
      ...visibleRows(this.pinned.peek(), pinTop, pinTop + this.pinnedHeight.peek()),
      ...visibleRows(this.layout.peek(), top - 200, top + this.height.peek() + 200),
    ];
  }

  /** The lanes with slices among them, pinned ones first; those of other workers are not ours to ask for. */
  visibleLanes(): number[] {
    const ids = this.visible()
      .filter((row) => row.kind === "slices" && row.node.info.id >= 0)
      .map((row) => row.node.info.id);
    return [...new Set(ids)];
  }

  /** The lanes with curves of device work among them. */
  visibleWork(): number[] {
    const rows = this.visible().filter((row) => row.node.info.of_work);
    return [...new Set(rows.map((row) => row.node.info.id))];
  }

  visiblePeers(): number[] {
    const ids = this.visible().map((row) => row.node.info.id);
    return ids.filter(isPeer);
  }
}

/** One for the page: leaving the tab and coming back keeps the tiles. */
export const timeline = new TimelineModel();
