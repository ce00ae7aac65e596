// Draws the arrows between the selected slice and its connections.

import type { Connection } from "../api";
import type { Ink } from "./ink";
import { TOP, xOf, type Scene } from "./scene";
import { sliceY } from "./tree";

/** Which end an arrow starts from: cause before effect. */
export function arrowFrom(connection: Connection): "selected" | "other" {
  return connection.type === "run" || connection.type === "backward" ? "selected" : "other";
}

export function drawArrows(ctx: CanvasRenderingContext2D, scene: Scene, colors: Ink): void {
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
