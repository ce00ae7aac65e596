// Draws the curves of a counter lane.

import type { Series, SeriesUnit } from "../api";
import { unitOf, valueText } from "../charts/time-lines";
import { seriesColor } from "../palette";
import type { Ink } from "./ink";
import { laneTop, lowerBound, xOf, type Band, type Scene } from "./scene";
import { textWidth } from "./text";
import type { LayoutRow } from "./tree";

/** The area curves of a counter lane: range between min and max, and the mean as a line. */
export function drawCurves(ctx: CanvasRenderingContext2D, scene: Scene, band: Band, row: LayoutRow, colors: Ink): void {
  const curves = scene.curves.ofLane(row.node.info, scene.range);
  const top = laneTop(band, row) + 5;
  const height = row.height - 9;
  const bottom = top + height;
  let unit: SeriesUnit | null = null;
  let least = 0;
  let most = 0;
  for (const curve of curves) {
    unit = curve.series.unit;
    least = Math.min(least, curve.min ?? 0);
    most = Math.max(most, curve.max);
  }
  if (unit === "ratio") most = Math.max(1, most);
  const scale = most > least ? most - least : 1;
  for (const curve of curves) {
    const color = seriesColor(scene.theme, curve.color);
    const { t, mean, min, max } = curve.series;
    const y = (value: number) => bottom - ((value - least) / scale) * height;
    // One point beyond either edge: more of them cost as much as those that are seen.
    const first = Math.max(0, lowerBound(t, scene.range.t0) - 1);
    const last = Math.min(t.length, lowerBound(t, scene.range.t1) + 1);
    const ofBins = (from: number, to: number) => drawBins(ctx, scene, curve.series, curve.meanNs ?? 0, y, from, to);
    const slopes = (from: number, to: number) => {
      const x = (i: number) => xOf(t[i], scene.range, scene.width);
      ctx.globalAlpha = 0.16;
      ctx.beginPath();
      ctx.moveTo(x(from), bottom);
      for (let i = from; i < to; i += 1) ctx.lineTo(x(i), y(mean[i] ?? 0));
      ctx.lineTo(x(to - 1), bottom);
      ctx.fill();
      if (max !== mean) {
        ctx.globalAlpha = 0.22;
        ctx.beginPath();
        ctx.moveTo(x(from), y(max[from] ?? mean[from] ?? 0));
        for (let i = from; i < to; i += 1) ctx.lineTo(x(i), y(max[i] ?? mean[i] ?? 0));
        for (let i = to - 1; i >= from; i -= 1) ctx.lineTo(x(i), y(min[i] ?? mean[i] ?? 0));
        ctx.fill();
      }
      ctx.globalAlpha = 1;
      ctx.beginPath();
      ctx.moveTo(x(from), y(mean[from] ?? 0));
      for (let i = from + 1; i < to; i += 1) ctx.lineTo(x(i), y(mean[i] ?? 0));
      if (to === from + 1) ctx.lineTo(x(from) + 2, y(mean[from] ?? 0));
      ctx.stroke();
    };
    ctx.fillStyle = ctx.strokeStyle = color;
    ctx.lineWidth = 1; // wider ones made an answer to the wheel take 202 ms instead of 121, without a GPU
    eachRun(mean, curve.meanNs === undefined ? slopes : ofBins, first, last);
  }
  if (!unit) return;
  const bounds = [[most, top + 4]];
  if (least < 0) bounds.push([least, bottom - 3]);
  ctx.textAlign = "right";
  for (const [value, y] of bounds) {
    const text = valueText(value, unitOf(unit, curves[0].series.group));
    const w = textWidth(ctx, text) + 8;
    ctx.fillStyle = colors.canvas;
    ctx.globalAlpha = 0.85;
    ctx.fillRect(scene.width - w - 2, y - 7, w, 14);
    ctx.globalAlpha = 1;
    ctx.fillStyle = colors.faint;
    ctx.fillText(text, scene.width - 6, y);
  }
  ctx.textAlign = "left";
}

/** Means of bins hold for the whole of their bin: columns on whole pixels and steps, painted in a tenth of the time that
 * the area under slopes takes without a GPU (1300 of them: 0.6 instead of 7 ms). */
function drawBins(
  ctx: CanvasRenderingContext2D,
  { range, width }: Scene,
  { t, mean }: Series,
  binNs: number,
  y: (value: number) => number,
  from: number,
  to: number,
): void {
  const edge = (i: number, side: 1 | -1) => xOf(t[i] + (side * binNs) / 2, range, width);
  ctx.globalAlpha = 0.16;
  for (let i = from, x = Math.round(edge(from, -1)); i < to; i += 1) {
    const next = Math.round(edge(i, 1));
    const top = y(mean[i] ?? 0);
    if (next > x) ctx.fillRect(x, top, next - x, y(0) - top);
    x = next;
  }
  ctx.globalAlpha = 1;
  ctx.beginPath();
  for (let i = from; i < to; i += 1) {
    ctx.lineTo(edge(i, -1), y(mean[i] ?? 0));
    ctx.lineTo(edge(i, 1), y(mean[i] ?? 0));
  }
  ctx.stroke();
}

/** Runs of values that were measured, of those from `first` up to `last`: [from, to) for each. */
export function eachRun(
  values: readonly (number | null)[],
  visit: (from: number, to: number) => void,
  first = 0,
  last = values.length,
): void {
  for (let i = first; i < last; ) {
    if (values[i] == null) {
      i += 1;
      continue;
    }
    let j = i + 1;
    while (j < last && values[j] != null) j += 1;
    visit(i, j);
    i = j;
  }
}
