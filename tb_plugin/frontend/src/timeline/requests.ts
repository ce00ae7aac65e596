// What the timeline asks of the server while one looks at it: rectangles, curves, arrows, lanes of other workers.

import { getArrows, getResources, getView, getWork, Importing, type LaneInfo, type WorkerKey } from "../api";
import { timelineHas } from "../data";
import { PENDING_MS, sentence } from "../resource";
import { nav } from "../state";
import { isByGroup } from "./coloring";
import { splitLanes } from "./decode";
import type { TimelineModel } from "./model";
import { stillUseful, type TileRequest } from "./tiles";
import type { Range } from "./viewport";

const RETRY_MS = 3000;

/** What to ask for next, of whom, and how far the answer's times are moved. */
interface NextRequest {
  at: WorkerKey;
  plan: TileRequest;
  shift: number;
  lane: number; // of the other worker; -1: the lanes of the plan
}

export class Requests {
  private tilesRequest: { plan: TileRequest; controller: AbortController } | null = null;
  private flowsRequest: { text: string; controller: AbortController } | null = null;
  private curvesRequest: AbortController | null = null;
  private workRequest: AbortController | null = null;
  private readonly retries = new Set<ReturnType<typeof setTimeout>>();
  private hasAny = false; // rectangles of this worker
  private scheduled = false;
  private drawing = Promise.resolve(); // settled once the rectangles that are under way are there

  constructor(private readonly model: TimelineModel) {}

  /** Forget what is under way: another worker is shown. */
  reset(): void {
    this.hasAny = false;
    this.dropTiles();
    this.dropRetries();
    this.dropFlows();
    this.curvesRequest?.abort();
    this.workRequest?.abort();
    this.curvesRequest = this.workRequest = null;
  }

  stop(): void {
    this.dropTiles();
    this.dropRetries();
    this.scheduled = false;
  }

  private dropRetries(): void {
    this.retries.forEach(clearTimeout);
    this.retries.clear();
  }

  /** The rectangles under way are of no use any more: their answer is not taken, and the next may be asked for. */
  dropTiles(): void {
    this.tilesRequest?.controller.abort();
    this.tilesRequest = null;
  }

  private dropFlows(): void {
    this.flowsRequest?.controller.abort();
    this.flowsRequest = null;
  }

  /** Ask for what is missing, once all that changes at this moment has: before the frame that shows the change is
   * drawn, since an answer is made while the page draws. */
  schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    queueMicrotask(() => {
      if (!this.scheduled) return;
      this.scheduled = false;
      void this.fetchWork(); // its answer is quick, and to be there when that of the rectangles is
      this.fetchTiles();
      void this.fetchCurves();
      void this.fetchFlows();
    });
  }

  private nextRequest(view: Range, px: number): NextRequest | null {
    const at = this.model.key;
    const answer = this.model.answer.peek();
    if (!at || !answer) return null;
    const whole = this.model.whole.peek();
    const own = this.model.tiles.plan(view, px, this.model.visibleLanes(), whole);
    if (own?.purpose === "detail") return { at, plan: own, shift: 0, lane: -1 };
    for (const id of this.model.visiblePeers()) {
      const peer = this.model.comparison.of(id);
      const shift = peer && this.model.comparison.shift(peer, answer);
      const lane = peer?.answer?.lane ?? null;
      if (!peer || shift === null || lane === null) continue;
      const plan = this.model.tiles.plan(view, px, [id], whole);
      if (plan) return { at: { ...at, worker: peer.worker }, plan, shift, lane };
    }
    return own && { at, plan: own, shift: 0, lane: -1 };
  }

  /** One request at a time: the server is not flooded while the user moves, and each answer plans the next. */
  private fetchTiles(): void {
    const at = this.model.key;
    const px = this.model.width.peek();
    if (!at || !this.model.answer.peek() || px === 0) return;
    const view = this.model.range.peek();
    if (this.tilesRequest) {
      if (stillUseful(this.tilesRequest.plan, view, px)) return;
      this.dropTiles();
    }
    this.model.comparison.load(this.model.visiblePeers(), () => this.schedule());
    const next = this.nextRequest(view, px);
    this.model.loading.value = next?.plan.purpose === "detail";
    if (next) this.drawing = this.load(at, next);
  }

  private async load(at: WorkerKey, { at: of, plan, shift, lane }: NextRequest): Promise<void> {
    const controller = new AbortController();
    const mine = { plan, controller };
    this.tilesRequest = mine;
    try {
      const range = { t0: plan.t0 + shift, t1: plan.t1 + shift };
      const asked = lane < 0 ? plan.lanes : [lane];
      const withGroups = isByGroup(nav.peek().color) || of === this.model.groupsOf;
      const table = await getView(of, range, plan.px, asked, withGroups, controller.signal);
      if (this.tilesRequest !== mine) return;
      for (let i = 0; shift !== 0 && i < table.length; i += 1) table.start[i] -= shift;
      const found = splitLanes(table);
      const mineOnly = found.get(lane);
      this.model.tiles.accept(
        plan,
        lane < 0 ? found : new Map(mineOnly ? [[plan.lanes[0], mineOnly]] : []),
        this.model.whole.peek(),
      );
      this.tilesRequest = null;
      this.fetchTiles(); // ahead of the drawing, during which the server makes the answer
      this.model.problem.value = "";
      this.model.drawn.value += 1;
      if (!this.hasAny) this.schedule(); // what waited for the first slices
      this.hasAny = true;
      timelineHas(at);
    } catch (error) {
      if (this.tilesRequest !== mine) return;
      this.tilesRequest = null;
      this.model.loading.value = false;
      this.failed(error);
    }
  }

  /** All arrows between the lanes in view, where they are wished for. */
  private async fetchFlows(): Promise<void> {
    const at = this.model.key;
    if (nav.peek().arrows !== "all" || !at || !this.model.answer.peek()) {
      this.model.flows.value = null;
      this.dropFlows();
      return;
    }
    const range = this.model.range.peek();
    const lanes = this.model.visibleLanes();
    const text = JSON.stringify([range, lanes, this.model.answer.peek()?.t1]);
    if (this.flowsRequest?.text === text) return;
    this.flowsRequest?.controller.abort();
    const controller = new AbortController();
    this.flowsRequest = { text, controller };
    try {
      const flows = await getArrows(at, range, lanes, controller.signal);
      if (!controller.signal.aborted) this.model.flows.value = flows;
    } catch (error) {
      if (controller.signal.aborted) return;
      this.flowsRequest = null;
      this.failed(error);
    }
  }

  /** Say what is wrong, if anything is, and ask again later. */
  private failed(error: unknown): void {
    const isPending = error instanceof Importing;
    if (!isPending) this.model.problem.value = sentence(error);
    const again = () => {
      this.retries.delete(timer);
      this.schedule();
    };
    const timer = setTimeout(again, isPending ? PENDING_MS : RETRY_MS);
    this.retries.add(timer);
  }

  private async fetchCurves(): Promise<void> {
    const at = this.model.key;
    if (!at || this.curvesRequest || !this.model.answer.peek()?.lanes.some(isSampled)) return;
    const plan = this.model.curves.plan(this.model.range.peek(), this.model.whole.peek());
    if (!plan) return;
    const controller = new AbortController();
    this.curvesRequest = controller;
    try {
      const answer = await getResources(at, plan.range, plan.points, controller.signal);
      if (this.curvesRequest !== controller) return;
      this.model.curves.accept(plan, answer);
      this.model.drawn.value += 1;
    } catch (error) {
      if (this.curvesRequest !== controller) return;
      this.curvesRequest = null;
      this.failed(error);
      return;
    }
    this.curvesRequest = null;
    void this.fetchCurves();
  }

  /** The curves of device work in sight; slices come first, since the first such answer takes its time. */
  private async fetchWork(): Promise<void> {
    const at = this.model.key;
    if (!at || this.workRequest || !this.hasAny) return;
    const whole = this.model.whole.peek();
    const lanes = this.model.visibleWork();
    const plan = this.model.curves.work.plan(this.model.range.peek(), this.model.width.peek(), lanes, whole);
    if (!plan) return;
    const controller = new AbortController();
    this.workRequest = controller;
    try {
      const answer = await getWork(at, plan, controller.signal);
      await this.drawing; // drawn with the rectangles of the same view, in one frame
      if (this.workRequest !== controller) return;
      this.model.curves.work.accept(plan, answer, whole);
      this.model.drawn.value += 1;
    } catch (error) {
      if (this.workRequest !== controller) return;
      this.workRequest = null;
      this.failed(error);
      return;
    }
    this.workRequest = null;
    void this.fetchWork();
  }
}

const isSampled = (lane: LaneInfo) => lane.type === "counter" && !lane.of_work;
