// Draws a frame of the timeline: lanes, then what lies over them, then the axis on top.

import type { SearchAnswer, SliceAnswer } from "../api";
import { firstEndingAfter } from "./decode";
import { drawArrows, drawFlows } from "./draw-arrows";
import { drawGrid, drawMeasure, drawRuler, drawStepBands, drawStepStrip } from "./draw-axis";
import { drawCurves } from "./draw-curves";
import { drawLane, layLane, type LaidLane } from "./draw-lane";
import { ink, type Ink } from "./ink";
import { laneTop, lowerBound, SLICE_HEIGHT, TOP, xOf, type Band, type Scene } from "./scene";
import { Strips } from "./strips";
import { FONT } from "./text";
import { depthTop, shows, visibleRows, type LayoutRow } from "./tree";
import { span } from "./viewport";

export function drawScene(ctx: CanvasRenderingContext2D, scene: Scene): void {
  const colors = ink(scene.theme);
  ctx.font = FONT;
  ctx.textBaseline = "middle";
  ctx.fillStyle = colors.canvas;
  ctx.fillRect(0, 0, scene.width, scene.height);
  ctx.imageSmoothingEnabled = false;
  const bands = scene.bands.map((band) => rowsOf(band));
  const laid = layLanes(scene, bands, ctx.getTransform().a, colors);
  scene.bands.forEach((band, i) => drawBand(ctx, scene, band, bands[i], laid, colors));
  within(ctx, 0, TOP, scene.width, scene.height - TOP, () => {
    if (scene.flows) drawFlows(ctx, scene, colors);
    drawArrows(ctx, scene, colors);
  });
  drawRuler(ctx, scene, colors);
  drawStepStrip(ctx, scene, colors);
  drawMeasure(ctx, scene, colors);
}

const strips = new Strips();

const rowsOf = (band: Band) => visibleRows(band.layout, band.scroll, band.scroll + band.bottom - band.top);

/** All slices in view, ready to be drawn: the pixels of a frame are handed over once. */
function layLanes(scene: Scene, bands: LayoutRow[][], ratio: number, colors: Ink): Map<LayoutRow, LaidLane> {
  const laid = new Map<LayoutRow, LaidLane>();
  strips.begin(scene.width, ratio);
  scene.bands.forEach((band, i) => {
    for (const row of bands[i]) {
      if (row.kind === "slices") laid.set(row, layLane(scene, strips, band, row, colors));
    }
  });
  strips.commit();
  return laid;
}

function drawBand(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  band: Band,
  rows: LayoutRow[],
  laid: ReadonlyMap<LayoutRow, LaidLane>,
  colors: Ink,
): void {
  within(ctx, 0, band.top, scene.width, band.bottom - band.top, () => {
    for (const row of rows) if (row.kind === "header") drawHeader(ctx, scene, band, row, colors);
    drawStepBands(ctx, scene, colors);
    drawGrid(ctx, scene, colors);
    for (const row of rows) {
      const y = laneTop(band, row);
      ctx.fillStyle = colors.line;
      ctx.fillRect(0, y + row.height - 1, scene.width, 1);
      const slices = laid.get(row);
      if (slices) drawLane(ctx, scene, strips, slices, colors);
      else if (row.kind === "counter") {
        within(ctx, 0, y, scene.width, row.height - 1, () => drawCurves(ctx, scene, band, row, colors));
      }
    }
    if (scene.page && scene.hits) drawHits(ctx, scene, band, scene.page, colors);
    drawMarks(ctx, scene, band, rows, colors);
    if (scene.measure) drawMarkedLanes(ctx, scene, band, rows, colors);
  });
  if (band.top > TOP && band.top < scene.height) {
    ctx.fillStyle = colors.strong;
    ctx.fillRect(0, band.top - 2, scene.width, 2);
  }
}

/** Draw clipped to a rectangle. */
function within(ctx: CanvasRenderingContext2D, x: number, y: number, w: number, h: number, draw: () => void): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, w, h);
  ctx.clip();
  draw();
  ctx.restore();
}

function drawHeader(ctx: CanvasRenderingContext2D, scene: Scene, band: Band, row: LayoutRow, colors: Ink): void {
  ctx.fillStyle = colors.header;
  ctx.fillRect(0, laneTop(band, row), scene.width, row.height);
}

/** The marked interval over the lanes that it is for. */
function drawMarkedLanes(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  band: Band,
  rows: LayoutRow[],
  colors: Ink,
): void {
  const { measure, marked } = scene;
  if (!measure) return;
  const x0 = xOf(measure.t0, scene.range, scene.width);
  const x1 = xOf(measure.t1, scene.range, scene.width);
  ctx.fillStyle = colors.accent;
  ctx.globalAlpha = 0.13;
  for (const row of rows) {
    if (marked === null || marked.has(row.node.info.id)) ctx.fillRect(x0, laneTop(band, row), x1 - x0, row.height);
  }
  ctx.globalAlpha = 1;
}

/** Outlines of the hovered and the selected slice. */
function drawMarks(ctx: CanvasRenderingContext2D, scene: Scene, band: Band, rows: LayoutRow[], colors: Ink): void {
  const { hover, selected } = scene;
  if (hover) {
    const row = band.layout.index.get(hover.lane);
    if (row && shows(row, hover.depth)) {
      const { start, dur } = hover.slices;
      outline(ctx, scene, band, row, hover.depth, start[hover.index], dur[hover.index], colors.text, 1);
    }
  }
  if (selected) {
    const row = band.layout.index.get(selected.lane);
    if (row && shows(row, selected.depth)) {
      outline(ctx, scene, band, row, selected.depth, selected.start, selected.dur, colors.accent, 2);
    }
    for (const shown of rows)
      if (shown.node.info.type === "launches") markAgain(ctx, scene, band, shown, selected, colors);
  }
}

/** The selected slice on a lane that shows it a second time. */
function markAgain(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  band: Band,
  row: LayoutRow,
  selected: SliceAnswer,
  colors: Ink,
): void {
  const slices = scene.tiles.detail.get(row.node.info.id)?.slices;
  const depths = slices ? Math.min(row.first + row.rows, slices.rows.length - 1) : 0;
  for (let depth = row.first; slices && depth < depths; depth += 1) {
    const end = slices.rows[depth + 1];
    const i = firstEndingAfter(slices, slices.rows[depth], end, selected.start);
    if (i < end && slices.row[i] === selected.row)
      outline(ctx, scene, band, row, depth, selected.start, selected.dur, colors.accent, 2);
  }
}

/** Hits too narrow to be seen by their colour, as ticks on their rows. */
function drawHits(ctx: CanvasRenderingContext2D, scene: Scene, band: Band, page: SearchAnswer, colors: Ink): void {
  ctx.fillStyle = colors.hit;
  const scale = scene.width / span(scene.range);
  const end = lowerBound(page.start, scene.range.t1);
  const drawn = new Set<number>();
  for (let i = lowerBound(page.start, scene.range.t0); i < end; i += 1) {
    if (page.dur[i] * scale > 3) continue;
    const row = band.layout.index.get(page.lane[i]);
    if (!row || !shows(row, page.depth[i])) continue;
    const x = Math.round((page.start[i] - scene.range.t0) * scale);
    const y = band.top - band.scroll + depthTop(row, page.depth[i]);
    const place = x * 100_000 + Math.round(y);
    if (drawn.has(place)) continue; // thousands may share a pixel
    drawn.add(place);
    ctx.fillRect(x - 1, y - 1, 3, SLICE_HEIGHT + 2);
  }
}

function outline(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  band: Band,
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
  const y = band.top - band.scroll + depthTop(row, depth);
  ctx.strokeStyle = color;
  ctx.lineWidth = width;
  ctx.strokeRect(x0 - 0.5, y - 0.5, Math.max(2, x1 - x0), SLICE_HEIGHT + 1);
}
