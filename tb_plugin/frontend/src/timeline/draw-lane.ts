// Draws the slices of a lane, sorted by colour: a switch of the fill style costs more than a rectangle.

import { Kind } from "../kinds";
import { colorsOf } from "./coloring";
import { firstEndingAfter, type LaneSlices } from "./decode";
import type { Ink } from "./ink";
import { laneTop, lowerBound, SLICE_HEIGHT, TOP, xOf, type Band, type Scene } from "./scene";
import { fit, textWidth } from "./text";
import { LANE_PADDING, ROW_PITCH, type LayoutRow } from "./tree";
import { intersect, span, type Range } from "./viewport";

const TEXT_ROOM = 26; // a slice narrower than this has no text

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

const MERGED = -1; // a text over a merged rectangle
const QUIET = -2; // on a dimmed one

interface Label {
  text: string;
  x: number;
  y: number;
  w: number;
  color: number; // index of the fill, or one of those below
}

const solid = new Buckets();
const pale = new Buckets();
const dim = new Buckets(); // what is not searched for, while something is
let labels: Label[] = [];

export function drawLane(ctx: CanvasRenderingContext2D, scene: Scene, band: Band, row: LayoutRow, colors: Ink): void {
  const lane = row.node.info.id;
  const detail = scene.tiles.detail.get(lane);
  const overview = scene.tiles.overview.get(lane);
  const top = laneTop(band, row) + LANE_PADDING;
  if (detail?.slices) collect(scene, row, detail.slices, intersect(detail, scene.range), top);
  if (!detail) {
    if (overview?.slices) collect(scene, row, overview.slices, scene.range, top);
    else if (!overview) drawPending(ctx, scene, top, colors);
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

function collect(scene: Scene, row: LayoutRow, slices: LaneSlices, part: Range, top: number): void {
  const { range, width } = scene;
  const scale = width / span(range);
  const depths = Math.min(row.rows, slices.rows.length - 1);
  const palette = colorsOf(slices, scene.coloring);
  const { hits } = scene;
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
      const color = palette[i];
      const quiet = hits !== null && !hits.names.has(slices.name[i]) && !hits.rows.has(slices.row[i]);
      const fill = quiet ? dim : solid;
      if (slices.count[i] > 1) {
        const full = slices.dur[i] > 0 ? Math.min(1, slices.busy[i] / slices.dur[i]) : 1;
        const h = Math.max(3, Math.round(SLICE_HEIGHT * full));
        if (w >= 2 && !quiet) pale.add(color, x0, y, w, SLICE_HEIGHT);
        fill.add(color, x0, y + SLICE_HEIGHT - h, w, h);
        if (w > 64) labels.push({ text: `${slices.count[i]} slices`, x: x0 + 5, y, w: w - 8, color: MERGED });
      } else {
        fill.add(color, x0, y, w, SLICE_HEIGHT);
        if (w > TEXT_ROOM) {
          const at = Math.max(x0, 0) + 5;
          const text = slices.kind[i] === Kind.STEP ? stepLabel(scene, slices.name[i], start) : slices.name[i];
          labels.push({ text, x: at, y, w: Math.min(x1, width) - at - 4, color: quiet ? QUIET : color });
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
  dim.flush(ctx, colors.dim);
  solid.flush(ctx, colors.fills);
  for (const label of labels) {
    const text = fit(label.text, label.w, (part) => textWidth(ctx, part));
    if (!text) continue;
    const y = label.y + SLICE_HEIGHT / 2 + 0.5;
    if (label.color === QUIET) {
      ctx.fillStyle = colors.faint;
    } else if (label.color === MERGED) {
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
function drawPending(ctx: CanvasRenderingContext2D, scene: Scene, top: number, colors: Ink): void {
  ctx.fillStyle = colors.line;
  ctx.globalAlpha = 0.6;
  ctx.fillRect(0, top, scene.width, SLICE_HEIGHT);
  ctx.globalAlpha = 1;
}
