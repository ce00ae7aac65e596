// Draws the slices of a lane: rectangles into the strips of the frame, then their names over them.

import { brief } from "../names";
import { Kind } from "../kinds";
import { colorsOf } from "./coloring";
import { firstEndingAfter, type LaneSlices } from "./decode";
import type { Ink } from "./ink";
import { laneTop, lowerBound, SLICE_HEIGHT, type Band, type Scene } from "./scene";
import { PARTS, type Strips } from "./strips";
import { fit, isolated, textWidth } from "./text";
import { LANE_PADDING, ROW_PITCH, type LayoutRow } from "./tree";
import { intersect, span, type Range } from "./viewport";

const TEXT_ROOM = 17; // pixels; with less room a slice has no text

const MERGED = -1; // a text over a merged rectangle
const QUIET = -2; // on a dimmed one

interface Label {
  text: string;
  x: number;
  y: number;
  w: number;
  color: number; // index of the fill, or one of those above
}

/** A lane of a frame, laid out: its strips are filled and wait to be drawn. */
export interface LaidLane {
  top: number; // of its first row
  first: number; // the depth of that row
  strips: number[]; // of each depth from it on, -1 where it is out of sight
  labels: Label[];
  pending: boolean; // it has never been answered for
}

/** Fill the strips of a lane: its detail and, where that does not reach, its overview. */
export function layLane(scene: Scene, strips: Strips, band: Band, row: LayoutRow, colors: Ink): LaidLane {
  const lane = row.node.info.id;
  const detail = scene.tiles.detail.get(lane);
  const overview = scene.tiles.overview.get(lane);
  const laid: LaidLane = {
    top: laneTop(band, row) + LANE_PADDING,
    first: row.first,
    strips: [],
    labels: [],
    pending: !detail && !overview,
  };
  for (let shown = 0; shown < row.rows; shown += 1) {
    const y = laid.top + shown * ROW_PITCH;
    laid.strips.push(y > band.bottom || y + ROW_PITCH < band.top || laid.pending ? -1 : strips.add());
  }
  const { range } = scene;
  const lay = (slices: LaneSlices, part: Range) =>
    part.t1 > part.t0 && fillStrips(scene, strips, laid, slices, part, colors);
  if (detail?.slices) lay(detail.slices, intersect(detail, range));
  if (overview?.slices) {
    if (!detail) lay(overview.slices, range);
    else {
      lay(overview.slices, { t0: range.t0, t1: Math.min(detail.t0, range.t1) });
      lay(overview.slices, { t0: Math.max(detail.t1, range.t0), t1: range.t1 });
    }
  }
  return laid;
}

function fillStrips(scene: Scene, strips: Strips, laid: LaidLane, slices: LaneSlices, part: Range, colors: Ink): void {
  const { range, width, hits } = scene;
  const scale = width / span(range);
  const from = (part.t0 - range.t0) * scale;
  const to = (part.t1 - range.t0) * scale;
  const shownRows = Math.min(laid.strips.length, slices.rows.length - 1 - laid.first);
  const palette = colorsOf(slices, scene.coloring);
  const { solid, pale, dim } = colors.words;
  for (let shown = 0; shown < shownRows; shown += 1) {
    const strip = laid.strips[shown];
    if (strip < 0) continue;
    const y = laid.top + shown * ROW_PITCH;
    const depth = laid.first + shown;
    const last = slices.rows[depth + 1];
    for (let i = firstEndingAfter(slices, slices.rows[depth], last, part.t0); i < last; i += 1) {
      const start = slices.start[i];
      if (start > part.t1) break;
      const x0 = (start - range.t0) * scale;
      let x1 = x0 + slices.dur[i] * scale;
      const w = x1 - x0;
      if (w > 4) x1 -= 1; // a gap between neighbours of one colour
      const color = palette[i];
      const quiet = hits !== null && !hits.names.has(slices.name[i]) && !hits.rows.has(slices.row[i]);
      const word = (quiet ? dim : solid)[color];
      const at = Math.max(x0, from, 0) + 5;
      const room = Math.min(x1, to, width) - at - 3;
      if (slices.count[i] > 1) {
        const full = slices.dur[i] > 0 ? Math.min(1, slices.busy[i] / slices.dur[i]) : 1;
        if (w >= 2 && !quiet) strips.fill(strip, x0, x1, PARTS, pale[color], from, to);
        strips.fill(strip, x0, x1, Math.max(1, Math.round(PARTS * full)), word, from, to);
        if (room > 56) laid.labels.push({ text: `${slices.count[i]} slices`, x: at, y, w: room, color: MERGED });
      } else {
        strips.fill(strip, x0, x1, PARTS, word, from, to);
        if (room > TEXT_ROOM) {
          const text = slices.kind[i] === Kind.STEP ? stepLabel(scene, slices.name[i], start) : brief(slices.name[i]);
          laid.labels.push({ text, x: at, y, w: room, color: quiet ? QUIET : color });
        }
      }
    }
  }
}

export function drawLane(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  strips: Strips,
  laid: LaidLane,
  colors: Ink,
): void {
  if (laid.pending) return drawPending(ctx, scene, laid.top, colors);
  laid.strips.forEach((strip, shown) => {
    if (strip >= 0) strips.draw(ctx, strip, laid.top + shown * ROW_PITCH, SLICE_HEIGHT);
  });
  for (const label of laid.labels) drawLabel(ctx, label, colors);
}

/** Always-on steps all bear one name: their number tells them apart. */
function stepLabel(scene: Scene, name: string, start: number): string {
  const at = lowerBound(scene.steps.start, start);
  const number = scene.steps.start[at] === start ? scene.steps.id[at] : null;
  return number === null || number === undefined || /\d/.test(name) ? name : `${name} ${number}`;
}

function drawLabel(ctx: CanvasRenderingContext2D, label: Label, colors: Ink): void {
  const fitting = fit(label.text, label.w, (part) => textWidth(ctx, part));
  if (!fitting) return;
  const text = isolated(fitting);
  const y = label.y + SLICE_HEIGHT / 2 + 0.5;
  if (label.color === MERGED) {
    ctx.lineWidth = 3;
    ctx.lineJoin = "round";
    ctx.strokeStyle = colors.canvas;
    ctx.strokeText(text, label.x, y);
    ctx.fillStyle = colors.text;
  } else {
    ctx.fillStyle = label.color === QUIET ? colors.faint : colors.texts[label.color];
  }
  ctx.fillText(text, label.x, y);
}

/** A lane that has never been answered for: a quiet stripe instead of emptiness that would look like idleness. */
function drawPending(ctx: CanvasRenderingContext2D, scene: Scene, top: number, colors: Ink): void {
  ctx.fillStyle = colors.line;
  ctx.globalAlpha = 0.6;
  ctx.fillRect(0, top, scene.width, SLICE_HEIGHT);
  ctx.globalAlpha = 1;
}
