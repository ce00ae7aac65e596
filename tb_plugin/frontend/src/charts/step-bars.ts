// The stacked bars of the Step breakdown: which bars a viewport of steps needs, and how they are drawn.
// Own canvas, since tens of thousands of steps in eight classes are more elements than a chart library keeps fluent.

import { CHART_COLORS, CHART_FONT } from "./echarts";
import { axisDuration } from "../format";
import { CANVAS, type Theme } from "../palette";
import { niceCeiling } from "./scale";

export const AXIS_LEFT = 64;
export const AXIS_BOTTOM = 22;
export const PADDING_TOP = 10;
const MOST_BAR_WIDTH = 110; // a few steps are bars, not blocks
const PADDING_RIGHT = 10;

/** Rows of the steps that are shown, and what their bars are made of. */
export interface BarData {
  rows: number[]; // indices into the steps
  name: (row: number) => string; // of a step
  number: (row: number) => number | null;
  parts: { key: string; color: string; values: (number | null)[] }[]; // of all steps, in drawing order
  whole: (number | null)[]; // the full height of a bar, of all steps
  share: boolean; // bars of height 1
}

/** One bar: one step, or the mean of several where there are more steps than pixels. */
export interface Bar {
  from: number; // positions in BarData.rows
  to: number;
  parts: number[]; // heights from the bottom up
  rest: number; // of the whole that no part tells
  most: number; // the highest single step in it
}

export interface BarView {
  from: number; // position in rows, fractional
  to: number;
}

export function clampBars(view: BarView, count: number): BarView {
  const width = Math.min(Math.max(view.to - view.from, Math.min(5, count)), count);
  const from = Math.min(Math.max(view.from, 0), Math.max(0, count - width));
  return { from, to: from + width };
}

/** Bars for a view of `px` pixels: at most one for every `least` pixels. */
export function makeBars(data: BarData, view: BarView, px: number, least = 3): Bar[] {
  const first = Math.max(0, Math.floor(view.from));
  const last = Math.min(data.rows.length, Math.ceil(view.to));
  const perBar = Math.max(1, Math.ceil(((view.to - view.from) * least) / Math.max(px, 1)));
  const bars: Bar[] = [];
  // Aligned to multiples of the bin, so that panning does not change what a bar averages.
  for (let from = Math.floor(first / perBar) * perBar; from < last; from += perBar) {
    const to = Math.min(from + perBar, data.rows.length);
    bars.push(makeBar(data, from, to));
  }
  return bars;
}

function makeBar(data: BarData, from: number, to: number): Bar {
  const parts = data.parts.map(() => 0);
  let whole = 0;
  let most = 0;
  for (let at = from; at < to; at += 1) {
    const row = data.rows[at];
    const height = data.whole[row] ?? 0;
    const scale = data.share ? (height > 0 ? 1 / height : 0) : 1;
    whole += height * scale;
    most = Math.max(most, height * scale);
    for (let p = 0; p < parts.length; p += 1) parts[p] += (data.parts[p].values[row] ?? 0) * scale;
  }
  const n = Math.max(1, to - from);
  for (let p = 0; p < parts.length; p += 1) parts[p] /= n;
  const told = parts.reduce((a, b) => a + b, 0);
  return { from, to, parts, rest: Math.max(0, whole / n - told), most };
}

/** 1, 2 or 5 times a power of ten, at or above n. */
function niceCount(n: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, n)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= n) ?? 10 * power;
}

/** The number of the step at a position, the position itself where the source told none. */
function numberOf(data: BarData, at: number): number {
  return data.number(data.rows[at]) ?? at;
}

/** The multiple of `every` among the step numbers of a bar, or null. */
function roundNumberIn(data: BarData, bar: Bar, every: number): number | null {
  const from = numberOf(data, bar.from);
  const to = numberOf(data, bar.to - 1);
  const candidate = Math.ceil(from / every) * every;
  return candidate <= to ? candidate : null;
}

export interface BarFrame {
  width: number;
  height: number;
  theme: Theme;
  data: BarData;
  view: BarView;
  hover: number | null; // position in rows
  top: number | null; // ns where the axis is cut; null: at the highest bar
}

const plotWidth = (width: number) => Math.max(1, width - AXIS_LEFT - PADDING_RIGHT);

export function barAt(x: number, frame: { width: number; view: BarView }, count: number): number | null {
  const at = frame.view.from + ((x - AXIS_LEFT) / plotWidth(frame.width)) * (frame.view.to - frame.view.from);
  return x < AXIS_LEFT || at < 0 || at >= count ? null : Math.floor(at);
}

/** Draw, and answer the bars so that the pointer can be told what it is on. */
export function drawBars(ctx: CanvasRenderingContext2D, frame: BarFrame): Bar[] {
  const { width, height, theme, data, view } = frame;
  const colors = CHART_COLORS[theme];
  const plot = { w: plotWidth(width), h: Math.max(1, height - AXIS_BOTTOM - PADDING_TOP) };
  const bars = makeBars(data, view, plot.w);
  ctx.fillStyle = CANVAS[theme];
  ctx.fillRect(0, 0, width, height);
  ctx.font = `11px ${CHART_FONT}`;
  ctx.textBaseline = "middle";

  let highest = 0;
  for (const bar of bars) highest = Math.max(highest, bar.most);
  const top = data.share ? 1 : (frame.top ?? niceCeiling(highest));
  const y = (value: number) => PADDING_TOP + plot.h * (1 - value / top);

  const marks = data.share ? 4 : top / 10 ** Math.floor(Math.log10(top)) === 1.5 ? 3 : 4;
  ctx.textAlign = "right";
  for (let i = 0; i <= marks; i += 1) {
    const value = (top * i) / marks;
    ctx.fillStyle = colors.line;
    ctx.fillRect(AXIS_LEFT, Math.round(y(value)), plot.w, 1);
    ctx.fillStyle = colors.faint;
    ctx.fillText(data.share ? `${(value * 100).toFixed(0)} %` : axisDuration(value), AXIS_LEFT - 8, y(value));
  }

  const perStep = plot.w / (view.to - view.from);
  const xOf = (at: number) => AXIS_LEFT + (at - view.from) * perStep;
  ctx.save();
  ctx.beginPath();
  ctx.rect(AXIS_LEFT, PADDING_TOP - 1, plot.w, height);
  ctx.clip();
  const binned = bars.some((bar) => bar.to - bar.from > 1);
  const gap = (w: number) => (binned ? 0 : w > 12 ? 2 : w > 4 ? 1 : 0);
  const place = (bar: Bar): [number, number] => {
    const slot = (bar.to - bar.from) * perStep;
    const w = Math.min(MOST_BAR_WIDTH, Math.max(1, slot - gap(slot)));
    return [xOf(bar.from) + Math.max(0, slot - w - gap(slot)) / 2, w];
  };
  data.parts.forEach((part, p) => {
    ctx.fillStyle = part.color;
    for (const bar of bars) {
      if (bar.parts[p] <= 0) continue;
      let below = 0;
      for (let q = 0; q < p; q += 1) below += bar.parts[q];
      const [x, w] = place(bar);
      const y1 = y(below);
      const y0 = y(below + bar.parts[p]);
      ctx.fillRect(x, y0, w, Math.max(0.5, y1 - y0));
    }
  });
  // What no part tells: the step took this long, but was not captured in depth.
  ctx.fillStyle = colors.line;
  ctx.strokeStyle = colors.faint;
  for (const bar of bars) {
    if (bar.rest <= top * 1e-9) continue;
    const told = bar.parts.reduce((a, b) => a + b, 0);
    const [x, w] = place(bar);
    ctx.fillRect(x, y(told + bar.rest), w, y(told) - y(told + bar.rest));
  }
  // A mean hides its outliers: a thin line reaches up to the longest step of the bar.
  ctx.fillStyle = colors.faint;
  ctx.globalAlpha = 0.55;
  for (const bar of bars) {
    if (data.share || bar.to - bar.from < 2) continue;
    const mean = bar.rest + bar.parts.reduce((a, b) => a + b, 0);
    const [x, w] = place(bar);
    ctx.fillRect(Math.round(x + w / 2 - 0.5), y(bar.most), 1, Math.max(0, y(mean) - y(bar.most) - 1));
  }
  ctx.globalAlpha = 1;
  // Bars that go on above a cut axis have a notch at its end.
  ctx.fillStyle = CANVAS[theme];
  for (const bar of bars) {
    if (bar.most <= top * 1.0001) continue;
    const [x, w] = place(bar);
    ctx.fillRect(x, PADDING_TOP + 4, Math.max(w, 3), 2);
  }
  if (frame.hover !== null) {
    const bar = bars.find((b) => frame.hover !== null && frame.hover >= b.from && frame.hover < b.to);
    if (bar) {
      const w = (bar.to - bar.from) * perStep;
      ctx.fillStyle = colors.text;
      ctx.globalAlpha = 0.1;
      ctx.fillRect(xOf(bar.from) - 1, PADDING_TOP, Math.max(3, w + 1), plot.h);
      ctx.globalAlpha = 1;
    }
  }
  ctx.textAlign = "left";
  let free = -Infinity;
  const sparse = bars.length > plot.w / 34;
  const last = bars.at(-1);
  const numbers = last ? numberOf(data, last.to - 1) - numberOf(data, bars[0].from) : 0;
  const every = niceCount((numbers * 70) / plot.w);
  for (const bar of bars) {
    // Where not every bar has room for its number, those with round ones have it.
    const round = sparse ? roundNumberIn(data, bar, every) : null;
    if (sparse && round === null) continue;
    const x = xOf(bar.from);
    const text = round === null ? data.name(data.rows[bar.from]) : round.toLocaleString("en-US");
    const w = ctx.measureText(text).width;
    const at = x + Math.max(0, ((bar.to - bar.from) * perStep - w) / 2);
    if (at < free || at + w > width || at < AXIS_LEFT) continue;
    ctx.fillStyle = colors.faint;
    ctx.fillText(text, at, height - AXIS_BOTTOM / 2);
    free = at + w + 18;
  }
  ctx.restore();
  return bars;
}
