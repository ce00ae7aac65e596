// Draws curves, bands, maps of cores and strips of spans over a common axis of time.

import type { SeriesUnit } from "../api";
import { mix } from "../color";
import { quantity, withoutZeros } from "../format";
import { CANVAS, SERIES_COLORS, type Theme } from "../palette";
import type { TimeRange } from "../time/view";
import { ruler } from "../timeline/ruler";
import { CHART_COLORS, CHART_FONT } from "./echarts";

export const LEFT = 76; // pixels beside the plot
export const RIGHT = 14;
export const AXIS = 20; // pixels below it
const TOP = 5;
const NAMED_TOP = 18; // room for the name of a mark above the highest value

export type ChartUnit = SeriesUnit | "cores";

/** The unit of a series: of some, 1 is one core. */
export const unitOf = (unit: SeriesUnit, group: string): ChartUnit =>
  unit === "ratio" && group.endsWith("(cores)") ? "cores" : unit;

export interface Line {
  name: string;
  color: string;
  unit: ChartUnit;
  t: readonly number[];
  value: readonly (number | null)[];
  low?: readonly (number | null)[];
  high?: readonly (number | null)[];
  limit?: boolean; // dashed, and no reason to scale the axis by much
  steps?: boolean; // a value holds until the next one
  filled?: boolean;
}

/** A point worth a name. */
export interface Mark {
  t: number;
  value: number;
  text: string;
}

export interface Plot {
  ctx: CanvasRenderingContext2D;
  width: number;
  height: number;
  range: TimeRange;
  axis: boolean; // time is told below
  theme: Theme;
}

export const xOf = (t: number, range: TimeRange, width: number) =>
  LEFT + ((t - range.t0) / Math.max(range.t1 - range.t0, 1)) * (width - LEFT - RIGHT);

export const tOf = (x: number, range: TimeRange, width: number) =>
  range.t0 + ((x - LEFT) / Math.max(width - LEFT - RIGHT, 1)) * (range.t1 - range.t0);

export function valueText(value: number | null | undefined, unit: ChartUnit): string {
  if (unit !== "cores") return quantity(value, unit);
  if (value == null) return quantity(value, "ratio");
  return value === 1 ? "1 core" : `${value.toFixed(Number.isInteger(value) ? 0 : value < 10 ? 2 : 1)} cores`;
}

/** The background, and the marks of time below it. */
export function drawFrame(plot: Plot): void {
  const { ctx, width, height, theme } = plot;
  ctx.fillStyle = CANVAS[theme];
  ctx.fillRect(0, 0, width, height);
  if (!plot.axis) return;
  const colors = CHART_COLORS[theme];
  const { base, ticks } = ruler(plot.range, width - LEFT - RIGHT, 0);
  ctx.font = `11px ${CHART_FONT}`;
  ctx.fillStyle = colors.faint;
  ctx.textBaseline = "middle";
  if (base) {
    ctx.textAlign = "right";
    ctx.fillText(base.label, LEFT - 8, height - AXIS / 2 + 2);
  }
  ctx.textAlign = "center";
  for (const { t, label } of ticks) {
    const x = xOf(t, plot.range, width);
    const half = ctx.measureText(label).width / 2;
    ctx.fillText(label, Math.min(Math.max(x, LEFT + half), width - half - 2), height - AXIS / 2 + 2);
    ctx.fillStyle = colors.line;
    ctx.fillRect(Math.round(x), height - AXIS, 1, 4);
    ctx.fillStyle = colors.faint;
  }
}

const bottomOf = (plot: Plot) => plot.height - (plot.axis ? AXIS : 4);

const highest = (some: readonly Line[]) =>
  some.reduce((top, line) => (line.high ?? line.value).reduce<number>((m, v) => Math.max(m, v ?? 0), top), 0);

/** Whether the limits among the lines lie on the axis. */
export const drawsLimit = (lines: readonly Line[]) =>
  highest(lines.filter((line) => line.limit)) <= scaleOf(lines).most;

/** The highest mark of the axis and the way between two. A limit far above everything is not drawn. */
export function scaleOf(lines: readonly Line[]): { most: number; step: number } {
  const used = highest(lines.filter((line) => !line.limit));
  const limit = highest(lines.filter((line) => line.limit));
  const unit = lines[0]?.unit ?? "ratio";
  // One far above 1 is a mistake of whoever recorded it, and must not mean billions of marks.
  if (unit === "ratio" && used <= 2) return { most: Math.max(1, used), step: 0.5 };
  const most =
    Math.max(limit > 0 && limit <= Math.max(used, 1e-9) * 4 ? limit : 0, used) ||
    (unit === "cores" || unit === "number" ? 1 : 1000);
  const base = unit === "bytes" ? 1024 ** Math.floor(Math.log2(most) / 10) : 10 ** Math.floor(Math.log10(most));
  const step = (STEPS.find((n) => most / (n * base) <= 2.5) ?? 500) * base;
  return { most: Math.ceil(most / step - 1e-9) * step, step };
}

const STEPS = [0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500];

export function drawLines(plot: Plot, lines: readonly Line[], marks: readonly Mark[] = []): void {
  const { ctx, width, theme, range } = plot;
  drawFrame(plot);
  if (lines.length === 0) return;
  const colors = CHART_COLORS[theme];
  const { most, step } = scaleOf(lines);
  const bottom = bottomOf(plot);
  const top = marks.length > 0 ? NAMED_TOP : TOP;
  const y = (value: number) => bottom - (value / most) * (bottom - top);
  ctx.font = `11px ${CHART_FONT}`;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (let mark = 0; mark <= most * 1.001; mark += step) {
    ctx.fillStyle = colors.line;
    ctx.fillRect(LEFT, Math.round(y(mark)), width - LEFT - RIGHT, 1);
    ctx.fillStyle = colors.faint;
    const text = mark === 0 ? "0" : withoutZeros(valueText(mark, lines[0].unit));
    ctx.fillText(text, LEFT - 8, Math.max(top + 3, Math.min(y(mark), bottom - 3)));
  }
  ctx.save();
  ctx.beginPath();
  ctx.rect(LEFT, 0, width - LEFT - RIGHT, bottom + 1);
  ctx.clip();
  const x = (t: number) => xOf(t, range, width);
  for (const line of lines) {
    if (line.low && line.high) drawBand(ctx, line, x, y);
    if (line.filled) drawArea(ctx, line, x, y, bottom);
  }
  for (const line of lines) {
    ctx.strokeStyle = line.color;
    ctx.lineWidth = line.limit ? 1 : 1.5;
    ctx.setLineDash(line.limit ? [4, 3] : []);
    trace(ctx, line, x, y);
    ctx.stroke();
  }
  ctx.setLineDash([]);
  ctx.fillStyle = colors.text;
  ctx.textBaseline = "middle";
  for (const mark of marks) {
    const [px, py] = [x(mark.t), y(mark.value)];
    if (px < LEFT || px > width - RIGHT) continue;
    ctx.beginPath();
    ctx.arc(px, py, 3.5, 0, 2 * Math.PI);
    ctx.fill();
    // Above its point, where no curve is: beside it a value that lasts would run through the name.
    const half = ctx.measureText(mark.text).width / 2 + 2;
    ctx.textAlign = "center";
    ctx.fillText(mark.text, Math.min(Math.max(px, LEFT + half), width - RIGHT - half), py - 11);
  }
  ctx.restore();
}

type Scale = (value: number) => number;

/** The path of a line: a value that is not there is a gap, a lone value a dot. */
function trace(ctx: CanvasRenderingContext2D, line: Line, x: Scale, y: Scale): void {
  ctx.beginPath();
  let down = false;
  let before = 0;
  line.value.forEach((value, i) => {
    if (value === null) {
      down = false;
      return;
    }
    const [px, py] = [x(line.t[i]), y(value)];
    if (!down) {
      ctx.moveTo(px, py);
      if (line.value[i + 1] == null) ctx.lineTo(px + 1.5, py);
    } else {
      if (line.steps) ctx.lineTo(px, before);
      ctx.lineTo(px, py);
    }
    down = true;
    before = py;
  });
}

function drawArea(ctx: CanvasRenderingContext2D, line: Line, x: Scale, y: Scale, bottom: number): void {
  ctx.globalAlpha = 0.12;
  ctx.fillStyle = line.color;
  runs(line.value).forEach(([first, last]) => {
    ctx.beginPath();
    ctx.moveTo(x(line.t[first]), bottom);
    for (let i = first; i <= last; i += 1) {
      if (line.steps && i > first) ctx.lineTo(x(line.t[i]), y(line.value[i - 1] as number));
      ctx.lineTo(x(line.t[i]), y(line.value[i] as number));
    }
    ctx.lineTo(x(line.t[last]), bottom);
    ctx.fill();
  });
  ctx.globalAlpha = 1;
}

function drawBand(ctx: CanvasRenderingContext2D, line: Line, x: Scale, y: Scale): void {
  const { low, high } = line;
  if (!low || !high) return;
  ctx.globalAlpha = 0.22;
  ctx.fillStyle = line.color;
  runs(line.value).forEach(([first, last]) => {
    ctx.beginPath();
    for (let i = first; i <= last; i += 1) ctx.lineTo(x(line.t[i]), y(high[i] ?? 0));
    for (let i = last; i >= first; i -= 1) ctx.lineTo(x(line.t[i]), y(low[i] ?? 0));
    ctx.fill();
  });
  ctx.globalAlpha = 1;
}

/** First and last places of stretches without a gap. */
function runs(values: readonly (number | null)[]): [number, number][] {
  const found: [number, number][] = [];
  values.forEach((value, i) => {
    if (value === null) return;
    const last = found.at(-1);
    if (last && last[1] === i - 1) last[1] = i;
    else found.push([i, i]);
  });
  return found;
}

export const HEAT_SHADES = 24;

/** From unused to fully used. */
export function heatColors(theme: Theme): string[] {
  const empty = theme === "light" ? "#eef2f6" : "#20242b";
  return Array.from({ length: HEAT_SHADES }, (_, i) =>
    mix(empty, SERIES_COLORS[theme][0], (i / (HEAT_SHADES - 1)) ** 0.85),
  );
}

/** Rows of cells; columns lie between `edges`. */
export function drawHeat(
  plot: Plot,
  rows: readonly { name: string; values: readonly (number | null)[] }[],
  edges: readonly number[],
): void {
  const { ctx, width, theme, range } = plot;
  drawFrame(plot);
  const bottom = bottomOf(plot);
  const each = (bottom - TOP) / Math.max(rows.length, 1);
  const palette = heatColors(theme);
  const gap = each >= 6 ? 1 : 0;
  ctx.save();
  ctx.beginPath();
  ctx.rect(LEFT, 0, width - LEFT - RIGHT, bottom);
  ctx.clip();
  rows.forEach((row, r) => {
    const top = Math.round(TOP + r * each);
    const high = Math.max(1, Math.round(TOP + (r + 1) * each) - top - gap);
    row.values.forEach((value, c) => {
      if (value === null) return; // not measured: the background
      ctx.fillStyle = palette[Math.round(Math.max(0, Math.min(1, value)) * (HEAT_SHADES - 1))];
      const left = Math.round(xOf(edges[c], range, width));
      ctx.fillRect(left, top, Math.max(1, Math.round(xOf(edges[c + 1], range, width)) - left), high);
    });
  });
  ctx.restore();
  ctx.font = `11px ${CHART_FONT}`;
  ctx.fillStyle = CHART_COLORS[theme].faint;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  const every = Math.max(1, Math.ceil(13 / each));
  for (let r = 0; r < rows.length; r += every)
    ctx.fillText(rows[r].name, LEFT - 8, Math.max(TOP + 5, TOP + (r + 0.5) * each));
}

/** The row of a map under a height in pixels, as `drawHeat` lays them out. */
export function heatRow(y: number, height: number, axis: boolean, rows: number): number | null {
  const bottom = height - (axis ? AXIS : 4);
  const row = Math.floor(((y - TOP) / (bottom - TOP)) * rows);
  return row >= 0 && row < rows ? row : null;
}

export interface StripRow {
  label: string;
  start: readonly number[];
  end: readonly number[];
  color: (i: number) => string;
  text: (i: number) => string;
}

export const STRIP_HEIGHT = 18;

export function drawStrips(plot: Plot, rows: readonly StripRow[]): void {
  const { ctx, width, theme, range } = plot;
  drawFrame(plot);
  ctx.font = `11px ${CHART_FONT}`;
  ctx.textBaseline = "middle";
  rows.forEach((row, r) => {
    const top = 3 + r * (STRIP_HEIGHT + 2);
    ctx.textAlign = "right";
    ctx.fillStyle = CHART_COLORS[theme].faint;
    ctx.fillText(row.label, LEFT - 8, top + STRIP_HEIGHT / 2);
    ctx.textAlign = "left";
    ctx.save();
    ctx.beginPath();
    ctx.rect(LEFT, 0, width - LEFT - RIGHT, plot.height);
    ctx.clip();
    row.start.forEach((start, i) => {
      const left = Math.max(xOf(start, range, width), LEFT);
      const right = Math.min(xOf(row.end[i], range, width), width - RIGHT);
      const wide = Math.max(right - left, 1);
      ctx.fillStyle = row.color(i);
      ctx.fillRect(left, top, wide > 3 ? wide - 1 : wide, STRIP_HEIGHT);
      const text = wide > 26 ? row.text(i) : "";
      if (text && ctx.measureText(text).width + 8 < wide) {
        ctx.fillStyle = CANVAS[theme];
        ctx.fillText(text, left + 4, top + STRIP_HEIGHT / 2 + 1);
      }
    });
    ctx.restore();
  });
}
