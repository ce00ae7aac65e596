// Draws the timeline on a Canvas2D: slices sorted by colour (a fill style switch costs more than a rectangle),
// then texts, step boundaries, curves, arrows and marks.

import type { Connection, SeriesUnit, SliceAnswer } from "../api";
import { mix, textOn } from "../color";
import { quantity } from "../format";
import { Kind } from "../kinds";
import { CANVAS, SERIES_COLORS, slicePalette, type Theme } from "../palette";
import type { CurveStore } from "./curves";
import { firstEndingAfter, type LaneSlices } from "./decode";
import type { SliceHit } from "./hit";
import { niceStep, ruler } from "./ruler";
import type { TileStore } from "./tiles";
import { LANE_PADDING, ROW_PITCH, sliceY, visibleRows, type Layout, type LayoutRow, type Tree } from "./tree";
import { intersect, span, type Range } from "./viewport";

export const RULER_HEIGHT = 24;
export const STEPS_HEIGHT = 18;
export const TOP = RULER_HEIGHT + STEPS_HEIGHT;

const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif';
const SLICE_HEIGHT = ROW_PITCH - 1;
const TEXT_ROOM = 26; // a slice narrower than this has no text

/** Everything a frame is drawn from. */
export interface Scene {
  theme: Theme;
  width: number;
  height: number;
  scroll: number;
  range: Range;
  whole: Range;
  tree: Tree;
  layout: Layout;
  steps: { id: (number | null)[]; start: number[]; end: number[] };
  tiles: TileStore;
  curves: CurveStore;
  selected: SliceAnswer | null;
  hover: SliceHit | null;
  pointerX: number | null;
  measure: Range | null;
}

export interface Ink {
  canvas: string;
  text: string;
  faint: string;
  line: string;
  header: string;
  band: string;
  accent: string;
  arrow: string;
  fills: string[];
  pale: string[]; // merged slices
  texts: string[]; // text colour on fills[i]
}

const INKS: Partial<Record<Theme, Ink>> = {};

export function ink(theme: Theme): Ink {
  const cached = INKS[theme];
  if (cached) return cached;
  const dark = theme === "dark";
  const fills = slicePalette(theme);
  const made: Ink = {
    canvas: CANVAS[theme],
    text: dark ? "#e4e7eb" : "#1c2127",
    faint: dark ? "#98a2ae" : "#5d6875",
    line: dark ? "#2a2f37" : "#e3e6ea",
    header: dark ? "#1b1e24" : "#f5f6f8",
    band: dark ? "rgba(255,255,255,0.035)" : "rgba(20,40,80,0.035)",
    accent: dark ? "#7db4ff" : "#0b57d0",
    arrow: dark ? "#57d3e0" : "#00748a",
    fills,
    pale: fills.map((fill) => mix(CANVAS[theme], fill, 0.42)),
    texts: fills.map(textOn),
  };
  INKS[theme] = made;
  return made;
}

/** Rectangles of one colour: x, y, width, height in turn. */
class Buckets {
  private data: Float32Array[] = [];
  private used: number[] = [];

  add(color: number, x: number, y: number, w: number, h: number): void {
    let array = this.data[color];
    let n = this.used[color] ?? 0;
    if (!array) array = this.data[color] = new Float32Array(256);
    else if (n + 4 > array.length) {
      const grown = new Float32Array(array.length * 2);
      grown.set(array);
      array = this.data[color] = grown;
    }
    array[n] = x;
    array[n + 1] = y;
    array[n + 2] = w;
    array[n + 3] = h;
    n += 4;
    this.used[color] = n;
  }

  flush(ctx: CanvasRenderingContext2D, colors: readonly string[]): void {
    for (let color = 0; color < this.data.length; color += 1) {
      const n = this.used[color] ?? 0;
      if (n === 0) continue;
      const array = this.data[color];
      ctx.fillStyle = colors[color];
      for (let i = 0; i < n; i += 4) ctx.fillRect(array[i], array[i + 1], array[i + 2], array[i + 3]);
      this.used[color] = 0;
    }
  }
}

interface Label {
  text: string;
  x: number;
  y: number;
  w: number;
  color: number; // index of the fill, -1: on a merged rectangle
}

const solid = new Buckets();
const pale = new Buckets();
let labels: Label[] = [];

const widths = new Map<string, number>();

/** Text width at FONT; names repeat, so it is measured once. */
function textWidth(ctx: CanvasRenderingContext2D, text: string): number {
  let w = widths.get(text);
  if (w === undefined) {
    if (widths.size > 20_000) widths.clear();
    w = ctx.measureText(text).width;
    widths.set(text, w);
  }
  return w;
}

/** The longest beginning of a text that fits, with an ellipsis; empty where not even three letters do. */
export function fit(text: string, room: number, measure: (text: string) => number): string {
  const width = measure(text);
  if (width <= room) return text;
  // Letters differ in width: a guess by the mean, then down to what truly fits.
  for (let letters = Math.floor((text.length * (room - 6)) / width); letters >= 3; letters -= 1) {
    const cut = `${text.slice(0, letters)}…`;
    if (measure(cut) <= room) return cut;
  }
  return "";
}

export function drawScene(ctx: CanvasRenderingContext2D, scene: Scene): void {
  const colors = ink(scene.theme);
  ctx.font = FONT;
  ctx.textBaseline = "middle";
  ctx.fillStyle = colors.canvas;
  ctx.fillRect(0, 0, scene.width, scene.height);
  const rows = visibleRows(scene.layout, scene.scroll, scene.scroll + scene.height - TOP);

  ctx.save();
  ctx.beginPath();
  ctx.rect(0, TOP, scene.width, scene.height - TOP);
  ctx.clip();
  for (const row of rows) if (row.kind === "header") drawHeader(ctx, scene, row, colors);
  drawStepBands(ctx, scene, colors);
  drawGrid(ctx, scene, colors);
  for (const row of rows) {
    const y = laneTop(scene, row);
    ctx.fillStyle = colors.line;
    ctx.fillRect(0, y + row.height - 1, scene.width, 1);
    if (row.kind === "counter") drawCurves(ctx, scene, row, colors);
    else if (row.kind === "slices") drawLane(ctx, scene, row, colors);
  }
  drawMarks(ctx, scene, colors);
  drawArrows(ctx, scene, colors);
  ctx.restore();

  drawRuler(ctx, scene, colors);
  drawStepStrip(ctx, scene, colors);
  drawMeasure(ctx, scene, colors);
}

const laneTop = (scene: Scene, row: LayoutRow) => TOP + row.y - scene.scroll;

/** Time to pixels. */
export function xOf(t: number, range: Range, width: number): number {
  return ((t - range.t0) / span(range)) * width;
}

function drawHeader(ctx: CanvasRenderingContext2D, scene: Scene, row: LayoutRow, colors: Ink): void {
  ctx.fillStyle = colors.header;
  ctx.fillRect(0, laneTop(scene, row), scene.width, row.height);
}

/** Whether the steps in view are on average too narrow for a block and a number each. */
function stepsAreNarrow(scene: Scene): boolean {
  const { start } = scene.steps;
  return lowerBound(start, scene.range.t1) - lowerBound(start, scene.range.t0) > scene.width / 24;
}

/** Every second step shaded, where steps are wide enough to tell apart. */
function drawStepBands(ctx: CanvasRenderingContext2D, scene: Scene, colors: Ink): void {
  if (stepsAreNarrow(scene)) return;
  eachStep(scene, 6, (i, x0, x1) => {
    if (i % 2 === 0) {
      ctx.fillStyle = colors.band;
      ctx.fillRect(x0, TOP, x1 - x0, scene.height - TOP);
    }
  });
}

function eachStep(scene: Scene, least: number, draw: (i: number, x0: number, x1: number) => void): void {
  const { start, end } = scene.steps;
  const { range, width } = scene;
  let from = 0;
  let to = start.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (end[middle] > range.t0) to = middle;
    else from = middle + 1;
  }
  for (let i = from; i < start.length && start[i] < range.t1; i += 1) {
    const x0 = Math.max(-1, xOf(start[i], range, width));
    const x1 = Math.min(width + 1, xOf(end[i], range, width));
    if (x1 - x0 >= least) draw(i, x0, x1);
  }
}

function drawGrid(ctx: CanvasRenderingContext2D, scene: Scene, colors: Ink): void {
  ctx.fillStyle = colors.line;
  ctx.globalAlpha = 0.55;
  for (const tick of ruler(scene.range, scene.width, scene.whole.t0).ticks) {
    ctx.fillRect(Math.round(xOf(tick.t, scene.range, scene.width)), TOP, 1, scene.height - TOP);
  }
  ctx.globalAlpha = 1;
}

function drawLane(ctx: CanvasRenderingContext2D, scene: Scene, row: LayoutRow, colors: Ink): void {
  const lane = row.node.info.id;
  const detail = scene.tiles.detail.get(lane);
  const overview = scene.tiles.overview.get(lane);
  const top = laneTop(scene, row) + LANE_PADDING;
  if (detail?.slices) collect(scene, row, detail.slices, intersect(detail, scene.range), top);
  if (!detail) {
    if (overview?.slices) collect(scene, row, overview.slices, scene.range, top);
    else if (!overview) drawPending(ctx, scene, row, colors);
  }
  flush(ctx, colors);
  if (detail && overview?.slices && (detail.t0 > scene.range.t0 || detail.t1 < scene.range.t1)) {
    // What the detail does not cover, from the overview; clipped, as its rectangles may reach into the detail.
    for (const part of [
      { t0: scene.range.t0, t1: Math.min(detail.t0, scene.range.t1) },
      { t0: Math.max(detail.t1, scene.range.t0), t1: scene.range.t1 },
    ]) {
      if (part.t1 <= part.t0) continue;
      const x = xOf(part.t0, scene.range, scene.width);
      ctx.save();
      ctx.beginPath();
      ctx.rect(x, top - LANE_PADDING, xOf(part.t1, scene.range, scene.width) - x, row.height);
      ctx.clip();
      collect(scene, row, overview.slices, part, top);
      flush(ctx, colors);
      ctx.restore();
    }
  }
}

function collect(
  scene: Scene,
  row: LayoutRow,
  slices: LaneSlices,
  part: Range,
  top: number,
): void {
  const { range, width } = scene;
  const scale = width / span(range);
  const depths = Math.min(row.rows, slices.rows.length - 1);
  for (let depth = 0; depth < depths; depth += 1) {
    const y = top + depth * ROW_PITCH;
    if (y > scene.height || y + ROW_PITCH < TOP) continue;
    const to = slices.rows[depth + 1];
    for (let i = firstEndingAfter(slices, slices.rows[depth], to, part.t0); i < to; i += 1) {
      const start = slices.start[i];
      if (start > part.t1) break;
      let x0 = (start - range.t0) * scale;
      let x1 = x0 + slices.dur[i] * scale;
      if (x0 < -2) x0 = -2;
      if (x1 > width + 2) x1 = width + 2;
      let w = x1 - x0;
      if (w < 1) w = 1;
      else if (w > 4) w -= 1; // a gap between neighbours of one colour
      const color = slices.color[i];
      if (slices.count[i] > 1) {
        const full = slices.dur[i] > 0 ? Math.min(1, slices.busy[i] / slices.dur[i]) : 1;
        const h = Math.max(3, Math.round(SLICE_HEIGHT * full));
        if (w >= 2) pale.add(color, x0, y, w, SLICE_HEIGHT);
        solid.add(color, x0, y + SLICE_HEIGHT - h, w, h);
        if (w > 64) labels.push({ text: `${slices.count[i]} slices`, x: x0 + 5, y, w: w - 8, color: -1 });
      } else {
        solid.add(color, x0, y, w, SLICE_HEIGHT);
        if (w > TEXT_ROOM) {
          const at = Math.max(x0, 0) + 5;
          const text = slices.kind[i] === Kind.STEP ? stepLabel(scene, slices.name[i], start) : slices.name[i];
          labels.push({ text, x: at, y, w: Math.min(x1, width) - at - 4, color });
        }
      }
    }
  }
}

/** Always-on steps all bear one name: their number tells them apart. */
function stepLabel(scene: Scene, name: string, start: number): string {
  const at = lowerBound(scene.steps.start, start);
  const number = scene.steps.start[at] === start ? scene.steps.id[at] : null;
  return number === null || number === undefined || /\d/.test(name) ? name : `${name} ${number}`;
}

function flush(ctx: CanvasRenderingContext2D, colors: Ink): void {
  pale.flush(ctx, colors.pale);
  solid.flush(ctx, colors.fills);
  for (const label of labels) {
    const text = fit(label.text, label.w, (part) => textWidth(ctx, part));
    if (!text) continue;
    const y = label.y + SLICE_HEIGHT / 2 + 0.5;
    if (label.color < 0) {
      ctx.lineWidth = 3;
      ctx.lineJoin = "round";
      ctx.strokeStyle = colors.canvas;
      ctx.strokeText(text, label.x, y);
      ctx.fillStyle = colors.text;
    } else {
      ctx.fillStyle = colors.texts[label.color];
    }
    ctx.fillText(text, label.x, y);
  }
  labels = [];
}

/** A lane that has never been answered for: a quiet stripe instead of emptiness that would look like idleness. */
function drawPending(ctx: CanvasRenderingContext2D, scene: Scene, row: LayoutRow, colors: Ink): void {
  ctx.fillStyle = colors.line;
  ctx.globalAlpha = 0.6;
  ctx.fillRect(0, laneTop(scene, row) + LANE_PADDING, scene.width, SLICE_HEIGHT);
  ctx.globalAlpha = 1;
}

/** The area curves of a counter lane: range between min and max, and the mean as a line. */
function drawCurves(ctx: CanvasRenderingContext2D, scene: Scene, row: LayoutRow, colors: Ink): void {
  const curves = scene.curves.ofLane(row.node.info, scene.range);
  const top = laneTop(scene, row) + 5;
  const height = row.height - 9;
  const bottom = top + height;
  let unit: SeriesUnit | null = null;
  let most = 0;
  for (const curve of curves) {
    unit = curve.series.unit;
    most = Math.max(most, curve.max);
  }
  if (unit === "ratio") most = Math.max(1, most);
  if (most <= 0) most = 1;
  curves.forEach((curve, at) => {
    const color = SERIES_COLORS[scene.theme][(curve.color + at) % SERIES_COLORS[scene.theme].length];
    const { t, mean, min, max } = curve.series;
    const y = (value: number) => bottom - (value / most) * height;
    eachRun(mean, (from, to) => {
      const x = (i: number) => xOf(t[i], scene.range, scene.width);
      ctx.fillStyle = color;
      ctx.globalAlpha = 0.16;
      ctx.beginPath();
      ctx.moveTo(x(from), bottom);
      for (let i = from; i < to; i += 1) ctx.lineTo(x(i), y(mean[i] ?? 0));
      ctx.lineTo(x(to - 1), bottom);
      ctx.fill();
      ctx.globalAlpha = 0.22;
      ctx.beginPath();
      ctx.moveTo(x(from), y(max[from] ?? mean[from] ?? 0));
      for (let i = from; i < to; i += 1) ctx.lineTo(x(i), y(max[i] ?? mean[i] ?? 0));
      for (let i = to - 1; i >= from; i -= 1) ctx.lineTo(x(i), y(min[i] ?? mean[i] ?? 0));
      ctx.fill();
      ctx.globalAlpha = 1;
      ctx.strokeStyle = color;
      ctx.lineWidth = 1.25;
      ctx.beginPath();
      ctx.moveTo(x(from), y(mean[from] ?? 0));
      for (let i = from + 1; i < to; i += 1) ctx.lineTo(x(i), y(mean[i] ?? 0));
      if (to === from + 1) ctx.lineTo(x(from) + 2, y(mean[from] ?? 0));
      ctx.stroke();
    });
  });
  if (unit) {
    ctx.textAlign = "right";
    const text = quantity(most, unit);
    const w = textWidth(ctx, text) + 8;
    ctx.fillStyle = colors.canvas;
    ctx.globalAlpha = 0.85;
    ctx.fillRect(scene.width - w - 2, top - 3, w, 14);
    ctx.globalAlpha = 1;
    ctx.fillStyle = colors.faint;
    ctx.fillText(text, scene.width - 6, top + 4);
    ctx.textAlign = "left";
  }
}

/** Runs of values that were measured: [from, to) for each. */
export function eachRun(values: readonly (number | null)[], visit: (from: number, to: number) => void): void {
  for (let i = 0; i < values.length; ) {
    if (values[i] == null) {
      i += 1;
      continue;
    }
    let j = i + 1;
    while (j < values.length && values[j] != null) j += 1;
    visit(i, j);
    i = j;
  }
}

/** Outlines of the hovered and the selected slice. */
function drawMarks(ctx: CanvasRenderingContext2D, scene: Scene, colors: Ink): void {
  const { hover, selected } = scene;
  if (hover) {
    const row = scene.layout.index.get(hover.lane);
    if (row && hover.depth < row.rows) {
      const { start, dur } = hover.slices;
      outline(ctx, scene, row, hover.depth, start[hover.index], dur[hover.index], colors.text, 1);
    }
  }
  if (selected) {
    const row = scene.layout.index.get(selected.lane);
    if (row?.kind === "slices" && selected.depth < row.rows) {
      outline(ctx, scene, row, selected.depth, selected.start, selected.dur, colors.accent, 2);
    }
  }
}

function outline(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  row: LayoutRow,
  depth: number,
  start: number,
  dur: number,
  color: string,
  width: number,
): void {
  const x0 = Math.max(-4, xOf(start, scene.range, scene.width));
  const x1 = Math.min(scene.width + 4, xOf(start + dur, scene.range, scene.width));
  if (x1 < -3 || x0 > scene.width + 3) return;
  const y = laneTop(scene, row) + LANE_PADDING + depth * ROW_PITCH;
  ctx.strokeStyle = color;
  ctx.lineWidth = width;
  ctx.strokeRect(x0 - 0.5, y - 0.5, Math.max(2, x1 - x0), SLICE_HEIGHT + 1);
}

/** Which end an arrow starts from: cause before effect. */
export function arrowFrom(connection: Connection): "selected" | "other" {
  return connection.type === "run" || connection.type === "backward" ? "selected" : "other";
}

function drawArrows(ctx: CanvasRenderingContext2D, scene: Scene, colors: Ink): void {
  const { selected, tree, layout } = scene;
  if (!selected) return;
  const mine = sliceY(tree, layout, selected.lane, selected.depth);
  if (!mine) return;
  for (const other of selected.connections.slice(0, 200)) {
    const theirs = sliceY(tree, layout, other.lane, other.depth);
    if (!theirs) continue;
    const outward = arrowFrom(other) === "selected";
    const [a, b] = outward ? [selected, other] : [other, selected];
    const [ya, yb] = outward ? [mine.y, theirs.y] : [theirs.y, mine.y];
    // From the end of a launch; an operator still runs when its work starts, so from its start there.
    const cause = other.type === "operator" ? a.start : Math.min(a.start + a.dur, Math.max(b.start, a.start));
    arrow(
      ctx,
      xOf(cause, scene.range, scene.width),
      TOP + ya - scene.scroll,
      xOf(b.start, scene.range, scene.width),
      TOP + yb - scene.scroll,
      colors,
      scene,
    );
  }
}

function arrow(
  ctx: CanvasRenderingContext2D,
  x0: number,
  y0: number,
  x1: number,
  y1: number,
  colors: Ink,
  scene: Scene,
): void {
  const far = 4000;
  if ((x0 < 0 && x1 < 0) || (x0 > scene.width && x1 > scene.width)) return;
  if ((y0 < TOP && y1 < TOP) || (y0 > scene.height && y1 > scene.height)) return;
  const ax = Math.max(-far, Math.min(scene.width + far, x0));
  const bx = Math.max(-far, Math.min(scene.width + far, x1));
  const bend = Math.max(14, Math.min(90, Math.abs(bx - ax) / 2));
  for (const [color, width] of [
    [colors.canvas, 3.5],
    [colors.arrow, 1.5],
  ] as const) {
    ctx.strokeStyle = color;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.moveTo(ax, y0);
    ctx.bezierCurveTo(ax + bend, y0, bx - bend, y1, bx - 3, y1);
    ctx.stroke();
  }
  ctx.fillStyle = colors.arrow;
  ctx.beginPath();
  ctx.moveTo(bx, y1);
  ctx.lineTo(bx - 7, y1 - 3.5);
  ctx.lineTo(bx - 7, y1 + 3.5);
  ctx.fill();
}

function drawRuler(ctx: CanvasRenderingContext2D, scene: Scene, colors: Ink): void {
  ctx.fillStyle = colors.header;
  ctx.fillRect(0, 0, scene.width, TOP);
  ctx.fillStyle = colors.line;
  ctx.fillRect(0, RULER_HEIGHT - 1, scene.width, 1);
  ctx.fillRect(0, TOP - 1, scene.width, 1);
  const { base, ticks } = ruler(scene.range, scene.width, scene.whole.t0);
  let free = 4;
  if (base) {
    ctx.fillStyle = colors.text;
    ctx.fillText(base.label, 6, RULER_HEIGHT / 2);
    free = textWidth(ctx, base.label) + 16;
  }
  for (const tick of ticks) {
    const x = Math.round(xOf(tick.t, scene.range, scene.width));
    ctx.fillStyle = colors.faint;
    ctx.globalAlpha = 0.6;
    ctx.fillRect(x, RULER_HEIGHT - 7, 1, 6);
    ctx.globalAlpha = 1;
    const w = textWidth(ctx, tick.label);
    if (x + 4 >= free && x + 4 + w < scene.width) {
      ctx.fillText(tick.label, x + 4, RULER_HEIGHT / 2);
      free = x + 4 + w + 10;
    }
  }
  if (scene.pointerX !== null) {
    ctx.fillStyle = colors.accent;
    ctx.fillRect(Math.round(scene.pointerX), 0, 1, RULER_HEIGHT);
  }
}

/** Marks at round step numbers, where the steps are too narrow for blocks of their own. */
function drawStepMarks(ctx: CanvasRenderingContext2D, scene: Scene, colors: Ink): void {
  const { id, start } = scene.steps;
  const from = lowerBound(start, scene.range.t0);
  const to = lowerBound(start, scene.range.t1);
  if (to - from < 2) return;
  const every = niceStep(((to - from) * 70) / scene.width);
  let last = NaN;
  for (let i = from; i < to; i += 1) {
    const number = id[i];
    if (number === null || number % every !== 0 || number === last) continue;
    last = number;
    const x = Math.round(xOf(start[i], scene.range, scene.width));
    ctx.fillStyle = colors.faint;
    ctx.globalAlpha = 0.6;
    ctx.fillRect(x, RULER_HEIGHT, 1, STEPS_HEIGHT - 1);
    ctx.globalAlpha = 1;
    ctx.fillText(number.toLocaleString("en-US"), x + 4, RULER_HEIGHT + STEPS_HEIGHT / 2);
  }
}

/** First index whose value is not below `t`. */
function lowerBound(values: readonly number[], t: number): number {
  let from = 0;
  let to = values.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (values[middle] < t) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The numbers of the steps under the ruler. */
function drawStepStrip(ctx: CanvasRenderingContext2D, scene: Scene, colors: Ink): void {
  if (stepsAreNarrow(scene)) return drawStepMarks(ctx, scene, colors);
  let free = -Infinity;
  eachStep(scene, 3, (i, x0, x1) => {
    ctx.fillStyle = colors.faint;
    ctx.globalAlpha = i % 2 === 0 ? 0.22 : 0.1;
    ctx.fillRect(x0, RULER_HEIGHT + 1, Math.max(1, x1 - x0 - 1), STEPS_HEIGHT - 3);
    ctx.globalAlpha = 1;
    const number = scene.steps.id[i] ?? "";
    const text = x1 - x0 > 64 ? `Step ${number}` : String(number);
    const w = textWidth(ctx, text);
    const at = Math.max(x0, 0) + 5;
    if (at + w + 4 <= x1 && at > free) {
      ctx.fillStyle = colors.text;
      ctx.fillText(text, at, RULER_HEIGHT + STEPS_HEIGHT / 2);
      free = at + w + 8;
    }
  });
}

/** An interval the user marks, with its length. */
function drawMeasure(ctx: CanvasRenderingContext2D, scene: Scene, colors: Ink): void {
  if (!scene.measure) return;
  const x0 = xOf(scene.measure.t0, scene.range, scene.width);
  const x1 = xOf(scene.measure.t1, scene.range, scene.width);
  ctx.fillStyle = colors.accent;
  ctx.globalAlpha = 0.1;
  ctx.fillRect(x0, TOP, x1 - x0, scene.height - TOP);
  ctx.globalAlpha = 1;
  ctx.fillRect(x0, 0, 1, scene.height);
  ctx.fillRect(x1 - 1, 0, 1, scene.height);
}
