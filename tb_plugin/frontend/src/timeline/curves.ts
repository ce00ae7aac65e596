// The resource series behind the counter lanes: an overview of the whole trace and the detail around the viewport.

import type { LaneInfo, ResourcesAnswer, Series } from "../api";
import { contains, intersect, span, type Range } from "./viewport";
import { WorkCurves } from "./work-curves";

export interface Curve {
  series: Series;
  max: number; // over the whole trace, so that the scale holds still while zooming; of device work in view
  min?: number; // where it lies below 0
  color: number; // place among those of series
  meanNs?: number; // each point is the mean over so long
  definition?: string;
  why?: string; // it is not there
}

export interface CurveRequest {
  range: Range;
  points: number;
  purpose: "overview" | "detail";
}

interface Held extends Range {
  nsPerPoint: number;
  series: Map<string, Series>;
}

const POINTS = 1200;

export class CurveStore {
  readonly work = new WorkCurves();
  private overview: Held | null = null;
  private detail: Held | null = null;
  private readonly maxima = new Map<string, number>();
  private readonly colors = new Map<string, number>();

  clear(): void {
    this.overview = this.detail = null;
    this.maxima.clear();
    this.colors.clear();
    this.work.clear();
  }

  /** What to ask for next, or null. Nothing finer than the sampling interval exists, but the server knows that. */
  plan(view: Range, whole: Range): CurveRequest | null {
    if (!(span(whole) > 0)) return null;
    if (!this.overview || !contains(this.overview, whole)) {
      return { range: whole, points: POINTS, purpose: "overview" };
    }
    const shown = intersect(view, whole);
    if (span(shown) <= 0 || span(shown) > span(whole) * 0.5) return null;
    const wanted = span(shown) / POINTS;
    const good = this.detail && contains(this.detail, shown) && this.detail.nsPerPoint < wanted * 4;
    if (good) return null;
    const more = span(shown);
    return {
      range: intersect({ t0: shown.t0 - more, t1: shown.t1 + more }, whole),
      points: POINTS * 2,
      purpose: "detail",
    };
  }

  accept(request: CurveRequest, answer: ResourcesAnswer): void {
    const held: Held = {
      ...request.range,
      nsPerPoint: span(request.range) / request.points,
      series: new Map(answer.series.map((series) => [series.id, series])),
    };
    if (request.purpose === "detail") {
      this.detail = held;
    } else {
      this.overview = held;
      this.detail = null;
      this.maxima.clear();
    }
    const groups = [...new Set(answer.series.map((series) => series.group))];
    for (const series of answer.series) {
      let most = this.maxima.get(series.id) ?? 0;
      for (let i = 0; i < series.t.length; i += 1) most = Math.max(most, series.max[i] ?? series.mean[i] ?? 0);
      this.maxima.set(series.id, most);
      if (!this.colors.has(series.id)) this.colors.set(series.id, groups.indexOf(series.group));
    }
  }

  /** The series of a counter lane, the detail where it covers the view. */
  ofLane(lane: LaneInfo, view: Range): Curve[] {
    if (lane.of_work) return this.work.ofLane(lane, view);
    const ids = lane.series === undefined ? [] : Array.isArray(lane.series) ? lane.series : [lane.series];
    const held =
      this.detail && this.overview && contains(this.detail, intersect(view, this.overview))
        ? this.detail
        : this.overview;
    const curves: Curve[] = [];
    for (const id of ids) {
      const series = held?.series.get(id);
      const color = (this.colors.get(id) ?? 0) + curves.length;
      if (series) curves.push({ series, max: this.maxima.get(id) ?? 0, color });
    }
    return curves;
  }
}

/** The value at a time: that of the nearest point, null in a gap. */
export function valueAt(series: Series, t: number): number | null {
  const { t: times, mean } = series;
  if (times.length === 0) return null;
  let from = 0;
  let to = times.length - 1;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (times[middle] < t) from = middle + 1;
    else to = middle;
  }
  const near = from > 0 && t - times[from - 1] < times[from] - t ? from - 1 : from;
  return mean[near];
}
