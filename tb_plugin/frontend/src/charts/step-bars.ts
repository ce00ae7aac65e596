// The stacked bars of the Step breakdown, as the server made them of a viewport of steps.
// Own canvas, since hundreds of bars in eight classes are more elements than a chart library keeps fluent.

import type { BarsAnswer } from "../dashboard/requests";
import type { Range } from "../dashboard/view";
import { axisDuration } from "../format";
import { CANVAS, type Theme } from "../palette";
import { CHART_COLORS, CHART_FONT } from "./echarts";
import { niceCeiling, partsOf } from "./scale";

export const AXIS_LEFT = 64;
export const AXIS_BOTTOM = 22;
const PADDING_TOP = 10;
const PADDING_RIGHT = 10;
const MOST_BAR_WIDTH = 110; // a few steps are bars, not blocks
const FEWEST_IN_VIEW = 5;

export interface BarView {
  from: number; // position among the steps that count, fractional
  to: number;
}

export interface BarFrame {
  width: number;
  height: number;
  theme: Theme;
  bars: BarsAnswer;
  colors: string[]; // of the parts, in drawing order
  keys: string[];
  view: BarView;
  share: boolean;
  hover: number | null; // index of a bar
  range: Range | null; // positions among all steps
  step: number | null;
  top: number | null; // ns where the axis is cut; null: at the highest bar
}

export function clampBars(view: BarView, count: number): BarView {
  const width = Math.min(Math.max(view.to - view.from, Math.min(FEWEST_IN_VIEW, count)), count);
  const from = Math.min(Math.max(view.from, 0), Math.max(0, count - width));
  return { from, to: from + width };
}

export const plotWidth = (width: number) => Math.max(1, width - AXIS_LEFT - PADDING_RIGHT);

/** The position, among the steps that count, under a pixel; null beside the plot. */
export function positionAt(x: number, width: number, view: BarView, count: number): number | null {
  const at = view.from + ((x - AXIS_LEFT) / plotWidth(width)) * (view.to - view.from);
  return x < AXIS_LEFT || at < 0 || at >= count ? null : at;
}

/** The pixel of a position. */
export const pixelOf = (at: number, width: number, view: BarView) =>
  AXIS_LEFT + ((at - view.from) / (view.to - view.from)) * plotWidth(width);

/** Index of the bar that holds a position, or null. */
export function barAt(bars: BarsAnswer, position: number | null): number | null {
  if (position === null || bars.count === 0) return null;
  const i = Math.floor((position - bars.begin) / bars.width);
  return i >= 0 && i < bars.first.length ? i : null;
}

/** Bars that have some part in the view. */
function inView(bars: BarsAnswer, view: BarView): [number, number] {
  const first = Math.max(0, Math.floor((view.from - bars.begin) / bars.width));
  return [first, Math.min(bars.first.length, Math.ceil((view.to - bars.begin) / bars.width))];
}

const numberOf = (bars: BarsAnswer, i: number) => bars.id[i] ?? bars.first[i];
const lastNumberOf = (bars: BarsAnswer, i: number) => bars.last_id[i] ?? bars.last[i];

export function drawBars(ctx: CanvasRenderingContext2D, frame: BarFrame): void {
  const { width, height, theme, bars, view, share } = frame;
  const colors = CHART_COLORS[theme];
  const plot = { w: plotWidth(width), h: Math.max(1, height - AXIS_BOTTOM - PADDING_TOP) };
  ctx.fillStyle = CANVAS[theme];
  ctx.fillRect(0, 0, width, height);
  ctx.font = `11px ${CHART_FONT}`;
  ctx.textBaseline = "middle";
  const [begin, end] = inView(bars, view);
  let highest = 0;
  for (let i = begin; i < end; i += 1) highest = Math.max(highest, bars.longest[i]);
  const top = share ? 1 : (frame.top ?? niceCeiling(highest));
  const y = (value: number) => PADDING_TOP + plot.h * (1 - value / top);
  drawScale(ctx, top, share, y, plot.w, colors);

  ctx.save();
  ctx.beginPath();
  ctx.rect(AXIS_LEFT, PADDING_TOP - 1, plot.w, height);
  ctx.clip();
  const slot = (plot.w / (view.to - view.from)) * bars.width;
  const gap = bars.width > 1 ? 0 : slot > 12 ? 2 : slot > 4 ? 1 : 0;
  const w = Math.min(MOST_BAR_WIDTH, Math.max(1, slot - gap));
  const xOf = (i: number) => pixelOf(bars.begin + i * bars.width, width, view) + Math.max(0, slot - w - gap) / 2;
  const isOut = (i: number) =>
    frame.range !== null && (bars.last[i] < frame.range.first || bars.first[i] > frame.range.last);
  const told = new Float64Array(bars.first.length);
  frame.keys.forEach((key, p) => {
    const values = bars.parts[key];
    ctx.fillStyle = frame.colors[p];
    for (let i = begin; i < end; i += 1) {
      if (values[i] <= 0) continue;
      const y1 = y(told[i]);
      told[i] += values[i];
      const y0 = y(told[i]);
      ctx.globalAlpha = isOut(i) ? 0.25 : 1;
      ctx.fillRect(xOf(i), y0, w, Math.max(0.5, y1 - y0));
    }
  });
  // What no part tells: the step took this long, but was not divided.
  ctx.fillStyle = colors.line;
  for (let i = begin; i < end; i += 1) {
    if (bars.mean[i] - told[i] <= top * 1e-9) continue;
    ctx.globalAlpha = isOut(i) ? 0.4 : 1;
    ctx.fillRect(xOf(i), y(bars.mean[i]), w, y(told[i]) - y(bars.mean[i]));
  }
  // A mean hides its outliers: a thin line reaches up to the longest step of the bar.
  ctx.fillStyle = colors.faint;
  ctx.globalAlpha = 0.55;
  for (let i = begin; i < end && !share; i += 1) {
    if (bars.steps[i] < 2) continue;
    const high = y(bars.longest[i]);
    ctx.fillRect(Math.round(xOf(i) + w / 2 - 0.5), high, 1, Math.max(0, y(bars.mean[i]) - high - 1));
  }
  ctx.globalAlpha = 1;
  // Bars that go on above a cut axis have a notch at its end.
  ctx.fillStyle = CANVAS[theme];
  for (let i = begin; i < end; i += 1)
    if (bars.longest[i] > top * 1.0001) ctx.fillRect(xOf(i), PADDING_TOP + 4, Math.max(w, 3), 2);
  drawChosen(ctx, frame, begin, end, slot, plot.h);
  drawNames(ctx, frame, begin, end, slot, plot.w);
  ctx.restore();
}

function drawScale(
  ctx: CanvasRenderingContext2D,
  top: number,
  share: boolean,
  y: (value: number) => number,
  w: number,
  colors: { line: string; faint: string },
): void {
  const marks = share ? 4 : partsOf(top);
  ctx.textAlign = "right";
  for (let i = 0; i <= marks; i += 1) {
    const value = (top * i) / marks;
    ctx.fillStyle = colors.line;
    ctx.fillRect(AXIS_LEFT, Math.round(y(value)), w, 1);
    ctx.fillStyle = colors.faint;
    ctx.fillText(share ? `${(value * 100).toFixed(0)} %` : axisDuration(value), AXIS_LEFT - 8, y(value));
  }
}

/** The hovered bar, and a frame around the step that is compared. */
function drawChosen(
  ctx: CanvasRenderingContext2D,
  frame: BarFrame,
  begin: number,
  end: number,
  slot: number,
  h: number,
): void {
  const { bars, view, width } = frame;
  const colors = CHART_COLORS[frame.theme];
  const left = (i: number) => pixelOf(bars.begin + i * bars.width, width, view);
  if (frame.hover !== null) {
    ctx.fillStyle = colors.text;
    ctx.globalAlpha = 0.1;
    ctx.fillRect(left(frame.hover) - 1, PADDING_TOP, Math.max(3, slot + 1), h);
    ctx.globalAlpha = 1;
  }
  for (let i = begin; i < end; i += 1) {
    if (frame.step === null || frame.step < bars.first[i] || frame.step > bars.last[i]) continue;
    ctx.strokeStyle = colors.text;
    ctx.lineWidth = 1.5;
    ctx.strokeRect(left(i) - 1, PADDING_TOP + 0.5, Math.max(4, slot), h);
  }
}

/** 1, 2 or 5 times a power of ten, at or above n. */
function niceCount(n: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, n)));
  return ([1, 2, 5].find((factor) => factor * power >= n) ?? 10) * power;
}

/** Names under the bars; where not every bar has room for its number, those with round ones have it. */
function drawNames(
  ctx: CanvasRenderingContext2D,
  frame: BarFrame,
  begin: number,
  end: number,
  slot: number,
  w: number,
): void {
  const { bars, view, width, height } = frame;
  if (end <= begin) return;
  const sparse = end - begin > w / 34;
  const every = niceCount(((lastNumberOf(bars, end - 1) - numberOf(bars, begin)) * 70) / w);
  ctx.textAlign = "left";
  ctx.fillStyle = CHART_COLORS[frame.theme].faint;
  let free = -Infinity;
  for (let i = begin; i < end; i += 1) {
    const round = Math.ceil(numberOf(bars, i) / every) * every;
    if (sparse && round > lastNumberOf(bars, i)) continue;
    const number = sparse ? round : bars.id[i];
    const text = number !== null ? String(number) : (bars.label[i] ?? `#${bars.first[i] + 1}`);
    const size = ctx.measureText(text).width;
    const at = pixelOf(bars.begin + i * bars.width, width, view) + Math.max(0, (slot - size) / 2);
    if (at < free || at + size > width || at < AXIS_LEFT) continue;
    ctx.fillText(text, at, height - AXIS_BOTTOM / 2);
    free = at + size + 18;
  }
}
