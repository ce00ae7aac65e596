// Draws what belongs to time and not to a lane: ruler, step numbers, step bands, grid, marked interval.

import { duration } from "../format";
import type { Ink } from "./ink";
import { niceStep, ruler } from "./ruler";
import { lowerBound, RULER_HEIGHT, STEPS_HEIGHT, TOP, xOf, type Scene } from "./scene";
import { textWidth } from "./text";
import { span } from "./viewport";

export function drawRuler(ctx: CanvasRenderingContext2D, scene: Scene, colors: Ink): void {
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

/** The numbers of the steps under the ruler. */
export function drawStepStrip(ctx: CanvasRenderingContext2D, scene: Scene, colors: Ink): void {
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
    ctx.fillText(String(number), x + 4, RULER_HEIGHT + STEPS_HEIGHT / 2);
  }
}

/** Every second step shaded, where steps are wide enough to tell apart. */
export function drawStepBands(ctx: CanvasRenderingContext2D, scene: Scene, colors: Ink): void {
  if (stepsAreNarrow(scene)) return;
  eachStep(scene, 6, (i, x0, x1) => {
    if (i % 2 === 0) {
      ctx.fillStyle = colors.band;
      ctx.fillRect(x0, TOP, x1 - x0, scene.height - TOP);
    }
  });
}

/** Whether the steps in view are on average too narrow for a block and a number each. */
function stepsAreNarrow(scene: Scene): boolean {
  const { start } = scene.steps;
  return lowerBound(start, scene.range.t1) - lowerBound(start, scene.range.t0) > scene.width / 24;
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

export function drawGrid(ctx: CanvasRenderingContext2D, scene: Scene, colors: Ink): void {
  ctx.fillStyle = colors.line;
  ctx.globalAlpha = 0.55;
  for (const tick of ruler(scene.range, scene.width, scene.whole.t0).ticks) {
    ctx.fillRect(Math.round(xOf(tick.t, scene.range, scene.width)), TOP, 1, scene.height - TOP);
  }
  ctx.globalAlpha = 1;
}

/** The edges of the marked interval, its part of the ruler, and its length. */
export function drawMeasure(ctx: CanvasRenderingContext2D, scene: Scene, colors: Ink): void {
  if (!scene.measure) return;
  const x0 = xOf(scene.measure.t0, scene.range, scene.width);
  const x1 = xOf(scene.measure.t1, scene.range, scene.width);
  ctx.fillStyle = colors.accent;
  ctx.globalAlpha = 0.16;
  ctx.fillRect(x0, 0, x1 - x0, RULER_HEIGHT);
  ctx.globalAlpha = 1;
  for (const x of [x0, x1 - 1]) {
    ctx.fillRect(x, 0, 1, scene.height);
    ctx.fillRect(x - 2, 0, 5, 6); // where the pointer takes hold of it
  }
  const text = duration(span(scene.measure));
  const w = textWidth(ctx, text) + 10;
  const from = Math.max(x0, 0);
  const to = Math.min(x1, scene.width);
  if (to - from < w + 8) return;
  const x = (from + to - w) / 2;
  ctx.fillStyle = colors.accent;
  ctx.fillRect(x, 3, w, RULER_HEIGHT - 7);
  ctx.fillStyle = colors.canvas;
  ctx.fillText(text, x + 5, RULER_HEIGHT / 2);
}
