// The strip above the timeline: the whole trace in a few rows, and the part of it that is on show.

import { CANVAS } from "../palette";
import type { Theme } from "../palette";
import type { Coloring } from "../hash";
import { colorsOf } from "./coloring";
import { ink } from "./ink";
import { xOf } from "./scene";
import type { TimelineModel } from "./model";
import { span, type Range } from "./viewport";

export const MINIMAP_HEIGHT = 44;
const MOST_ROWS = 5;
const EDGE = 6; // pixels around an edge of the window that take hold of it

/** The lanes drawn: the busiest with an overview, in the order of the tree. */
export function minimapLanes(model: TimelineModel): number[] {
  const held = [...model.tree.peek().byId.values()].filter((node) => model.tiles.overview.get(node.info.id)?.slices);
  const busiest = [...held].sort((a, b) => (b.info.busy_ns ?? 0) - (a.info.busy_ns ?? 0)).slice(0, MOST_ROWS);
  return held.filter((node) => busiest.includes(node)).map((node) => node.info.id);
}

/** The whole trace: what stays while one moves in it. */
export function drawWhole(
  ctx: CanvasRenderingContext2D,
  width: number,
  model: TimelineModel,
  theme: Theme,
  coloring: Coloring,
): void {
  const colors = ink(theme);
  const whole = model.whole.peek();
  ctx.fillStyle = CANVAS[theme];
  ctx.fillRect(0, 0, width, MINIMAP_HEIGHT);
  drawSteps(ctx, width, whole, model, colors.faint);
  const lanes = minimapLanes(model);
  const pitch = Math.min(10, Math.floor((MINIMAP_HEIGHT - 10) / Math.max(1, lanes.length)));
  lanes.forEach((lane, i) => {
    const slices = model.tiles.overview.get(lane)?.slices;
    if (!slices) return;
    const y = 7 + i * pitch;
    const end = Math.min(slices.rows.length - 1, 1) > 0 ? slices.rows[1] : 0;
    const palette = colorsOf(slices, coloring);
    let color = -1;
    let drawn = -1;
    for (let j = 0; j < end; j += 1) {
      const x = xOf(slices.start[j], whole, width);
      const w = Math.max(1, xOf(slices.start[j] + slices.dur[j], whole, width) - x);
      if (x + w <= drawn) continue;
      drawn = x + w;
      if (palette[j] !== color) ctx.fillStyle = colors.fills[(color = palette[j])];
      ctx.fillRect(x, y, w, pitch - 2);
    }
  });
}

/** The part on show, the marked interval and the hits, over the whole. */
export function drawMinimap(
  ctx: CanvasRenderingContext2D,
  width: number,
  model: TimelineModel,
  theme: Theme,
  background: HTMLCanvasElement,
): void {
  const colors = ink(theme);
  const whole = model.whole.peek();
  ctx.drawImage(background, 0, 0, width, MINIMAP_HEIGHT);
  const marked = model.measure.peek();
  if (marked) {
    const x = xOf(marked.t0, whole, width);
    ctx.fillStyle = colors.accent;
    ctx.globalAlpha = 0.25;
    ctx.fillRect(x, 0, Math.max(2, xOf(marked.t1, whole, width) - x), MINIMAP_HEIGHT);
    ctx.globalAlpha = 1;
  }

  const view = model.range.peek();
  const x0 = xOf(view.t0, whole, width);
  const x1 = xOf(view.t1, whole, width);
  ctx.fillStyle = CANVAS[theme];
  ctx.globalAlpha = 0.62;
  ctx.fillRect(0, 0, x0, MINIMAP_HEIGHT);
  ctx.fillRect(x1, 0, width - x1, MINIMAP_HEIGHT);
  ctx.globalAlpha = 1;
  drawHits(ctx, width, model, colors.hit);
  ctx.strokeStyle = colors.accent;
  ctx.lineWidth = 1.5;
  ctx.strokeRect(
    Math.max(0.75, x0),
    0.75,
    Math.max(3, Math.min(width - 1, x1) - Math.max(0, x0) - 1),
    MINIMAP_HEIGHT - 1.5,
  );
  ctx.fillStyle = colors.accent;
  if (x1 - x0 > 3 * EDGE && span(view) < span(whole)) {
    ctx.fillRect(x0 - 1, 12, 4, MINIMAP_HEIGHT - 24);
    ctx.fillRect(x1 - 3, 12, 4, MINIMAP_HEIGHT - 24);
  }
}

/** Where the search hit, over everything: marks grow with the number of hits. */
function drawHits(ctx: CanvasRenderingContext2D, width: number, model: TimelineModel, color: string): void {
  const marks = model.finder.text.peek() === "" ? [] : (model.finder.found.now.peek().value?.marks ?? []);
  let most = 1;
  for (const n of marks) most = Math.max(most, n);
  ctx.fillStyle = color;
  marks.forEach((n, i) => {
    if (n === 0) return;
    const h = 6 + (8 * Math.log1p(n)) / Math.log1p(most);
    ctx.fillRect((i * width) / marks.length, MINIMAP_HEIGHT - h, Math.max(2, width / marks.length), h);
  });
}

function drawSteps(
  ctx: CanvasRenderingContext2D,
  width: number,
  whole: Range,
  model: TimelineModel,
  color: string,
): void {
  const steps = model.answer.peek()?.steps;
  if (!steps) return;
  ctx.fillStyle = color;
  ctx.globalAlpha = 0.5;
  let last = -10;
  for (const start of steps.start) {
    const x = Math.round(xOf(start, whole, width));
    if (x - last < 3) continue;
    ctx.fillRect(x, 0, 1, 4);
    last = x;
  }
  ctx.globalAlpha = 1;
}

/** Drag the window or one of its edges, or go where one clicks. */
export function attachMinimap(canvas: HTMLCanvasElement, model: TimelineModel): () => void {
  let drag: { kind: "move" | "left" | "right"; x: number; range: Range } | null = null;
  const timeOf = (x: number) => {
    const whole = model.whole.peek();
    return whole.t0 + (x / Math.max(canvas.clientWidth, 1)) * span(whole);
  };
  const part = (x: number): "left" | "right" | "move" | null => {
    const range = model.range.peek();
    const whole = model.whole.peek();
    const x0 = xOf(range.t0, whole, canvas.clientWidth);
    const x1 = xOf(range.t1, whole, canvas.clientWidth);
    if (Math.abs(x - x0) < EDGE && x1 - x0 > EDGE) return "left";
    if (Math.abs(x - x1) < EDGE && x1 - x0 > EDGE) return "right";
    return x > x0 && x < x1 ? "move" : null;
  };
  const xIn = (event: PointerEvent) => event.clientX - canvas.getBoundingClientRect().left;

  const down = (event: PointerEvent) => {
    const x = xIn(event);
    let kind = part(x);
    if (kind === null) {
      const width = span(model.range.peek());
      model.setRange({ t0: timeOf(x) - width / 2, t1: timeOf(x) + width / 2 });
      kind = "move";
    }
    drag = { kind, x, range: model.range.peek() };
    canvas.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent) => {
    const x = xIn(event);
    if (!drag) {
      const kind = part(x);
      canvas.style.cursor = kind === "left" || kind === "right" ? "ew-resize" : kind === "move" ? "grab" : "pointer";
      return;
    }
    const by = timeOf(x) - timeOf(drag.x);
    const { t0, t1 } = drag.range;
    if (drag.kind === "move") model.setRange({ t0: t0 + by, t1: t1 + by });
    else if (drag.kind === "left") model.setRange({ t0: Math.min(t0 + by, t1 - 20), t1 });
    else model.setRange({ t0, t1: Math.max(t1 + by, t0 + 20) });
  };
  const up = () => (drag = null);

  canvas.addEventListener("pointerdown", down);
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", up);
  return () => {
    canvas.removeEventListener("pointerdown", down);
    canvas.removeEventListener("pointermove", move);
    canvas.removeEventListener("pointerup", up);
  };
}
