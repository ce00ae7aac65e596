// Draws a frame of the timeline: lanes, then what lies over them, then the axis on top.

import { drawArrows } from "./draw-arrows";
import { drawGrid, drawMeasure, drawRuler, drawStepBands, drawStepStrip } from "./draw-axis";
import { drawCurves } from "./draw-curves";
import { drawLane } from "./draw-lane";
import { ink, type Ink } from "./ink";
import { laneTop, SLICE_HEIGHT, TOP, xOf, type Scene } from "./scene";
import { FONT } from "./text";
import { LANE_PADDING, ROW_PITCH, visibleRows, type LayoutRow } from "./tree";

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

function drawHeader(ctx: CanvasRenderingContext2D, scene: Scene, row: LayoutRow, colors: Ink): void {
  ctx.fillStyle = colors.header;
  ctx.fillRect(0, laneTop(scene, row), scene.width, row.height);
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
