// The curves of devices' work and of counters: their means in bins as wide as the pixels of the view, for the lanes in sight.

import type { LaneInfo, Series, WorkAnswer } from "../api";
import { COPY_COLORS, GPU_COLOR, OTHER_COPY_COLOR } from "../palette";
import type { Curve } from "./curves";
import { contains, intersect, span, type Range } from "./viewport";

export interface WorkRequest extends Range {
  bins: number;
  lanes: number[];
  version: number; // of the trace when asked
}

interface Held extends Range {
  nsPerBin: number;
  version: number;
  lanes: Map<number, Curve[]>;
}

/** So much finer than a pixel bins may be: those of a few are still told apart from their mean. */
const FINEST = 0.5;
const COLORS: Record<string, number> = { busy: GPU_COLOR, sm_efficiency: 2 };
const COUNTER = "counter "; // how the ids of the series of a trace's counters begin
const colorOf = (series: string) => COLORS[series] ?? COPY_COLORS[series.replace("copies ", "")] ?? OTHER_COPY_COLOR;

export class WorkCurves {
  private overview: Held | null = null; // the latest that covers the whole trace
  private detail: Held | null = null; // the latest
  private version = 0;

  clear(): void {
    this.overview = this.detail = null;
  }

  /** The trace has grown: what is held is drawn until it is there anew. */
  touch(): void {
    this.version += 1;
  }

  /** What to ask for next for the lanes in sight, or null. */
  plan(view: Range, px: number, lanes: readonly number[], whole: Range): WorkRequest | null {
    const shown = intersect(view, whole);
    if (lanes.length === 0 || px <= 0 || !(span(shown) > 0)) return null;
    const pixel = span(view) / px;
    const { detail } = this;
    const fits = detail && contains(detail, shown) && detail.nsPerBin >= Math.min(1, pixel) * FINEST;
    const sharp = fits && detail.nsPerBin <= Math.max(1, pixel) * 1.01 && detail.nsPerBin >= pixel * FINEST;
    if (sharp && detail.version >= this.version && lanes.every((lane) => detail.lanes.has(lane))) return null;
    const beside = span(shown) / 2;
    const wide = intersect({ t0: shown.t0 - beside, t1: shown.t1 + beside }, whole);
    const range = { t0: Math.floor(wide.t0), t1: Math.ceil(wide.t1) };
    // Traces have 1 ns resolution: finer bins tell nothing more.
    const bins = Math.max(1, Math.min(Math.ceil(span(range) / pixel), span(range)));
    return { ...range, bins, lanes: [...lanes], version: this.version };
  }

  accept(request: WorkRequest, answer: WorkAnswer, whole: Range): void {
    const nsPerBin = span(answer) / request.bins;
    const t = Array.from({ length: request.bins }, (_, i) => answer.t0 + (i + 0.5) * nsPerBin);
    const lanes = new Map<number, Curve[]>(request.lanes.map((lane) => [lane, []]));
    for (const { lane, mean, why, definition, ...about } of answer.series) {
      const series: Series = { ...about, group: "", t: why ? [] : t, mean, min: mean, max: mean };
      const held = lanes.get(lane);
      const color = about.id.startsWith(COUNTER) ? (held?.length ?? 0) : colorOf(about.id);
      held?.push({ series, min: 0, max: 0, color, meanNs: nsPerBin, why, definition });
    }
    this.detail = { t0: answer.t0, t1: answer.t1, nsPerBin, version: request.version, lanes };
    if (contains(this.detail, whole)) this.overview = this.detail;
  }

  /** What is held of a lane: the detail where it covers the view, else what covers most of it. */
  ofLane(lane: LaneInfo, view: Range): Curve[] {
    const { detail, overview } = this;
    const near = detail && (!overview || contains(detail, intersect(view, overview)));
    const curves = (near ? detail : overview)?.lanes.get(lane.id) ?? overview?.lanes.get(lane.id) ?? [];
    for (const curve of curves) [curve.min, curve.max] = boundsIn(curve.series, view);
    return curves;
  }

  /** The curves of a lane for their names, once any are there. */
  legend(lane: number): readonly Curve[] {
    return this.detail?.lanes.get(lane) ?? this.overview?.lanes.get(lane) ?? [];
  }
}

/** The lowest and highest value in view, 0 among them: a rate over the whole trace is far below that of one copy. */
function boundsIn({ t, mean }: Series, view: Range): [number, number] {
  let least = 0;
  let most = 0;
  for (let i = 0; i < t.length; i += 1) {
    const value = mean[i];
    if (value === null || t[i] < view.t0 || t[i] > view.t1) continue;
    if (value > most) most = value;
    else if (value < least) least = value;
  }
  return [least, most];
}
