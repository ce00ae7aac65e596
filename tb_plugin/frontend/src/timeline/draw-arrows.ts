// Draws the arrows between the selected slice and its connections.

import type { Connection } from "../api";
import type { Ink } from "./ink";
import { launchOnCanvas, sliceOnCanvas, TOP, xOf, type Scene } from "./scene";

const OUTWARD: ReadonlySet<Connection["type"]> = new Set(["run", "backward", "consumer"]);

/** Which end an arrow starts from: cause before effect. */
export function arrowFrom(connection: Connection): "selected" | "other" {
  return OUTWARD.has(connection.type) ? "selected" : "other";
}

export function drawArrows(ctx: CanvasRenderingContext2D, scene: Scene, colors: Ink): void {
  const { selected } = scene;
  if (!selected) return;
  for (const other of selected.connections.slice(0, 200)) {
    const [a, b] = arrowFrom(other) === "selected" ? [selected, other] : [other, selected];
    const isLaunch = other.type === "run" || other.type === "launch";
    const from = isLaunch ? launchOnCanvas(scene, a.lane, a.depth, b.lane) : sliceOnCanvas(scene, a.lane, a.depth);
    const to = sliceOnCanvas(scene, b.lane, b.depth);
    if (!from || !to) continue;
    const [ya, yb] = [from.y, to.y];
    // From the end of a launch; an operator still runs when its work starts, so from its start there.
    const whileRunning = other.type === "operator" || other.type === "forward" || other.type === "backward";
    const cause = whileRunning ? a.start : Math.min(a.start + a.dur, Math.max(b.start, a.start));
    const x0 = xOf(cause, scene.range, scene.width);
    arrow(ctx, x0, ya, xOf(b.start, scene.range, scene.width), yb, colors, scene);
  }
}

/** All connections in view: thin, so that what they lead over still shows. */
export function drawFlows(ctx: CanvasRenderingContext2D, scene: Scene, colors: Ink): void {
  const { flows, range, width } = scene;
  if (!flows) return;
  const places = new Map<number, number | null>();
  const yOf = (lane: number, depth: number) => {
    const key = lane * 512 + depth;
    let y = places.get(key);
    if (y === undefined) places.set(key, (y = sliceOnCanvas(scene, lane, depth)?.y ?? null));
    return y;
  };
  const launches = new Map<string, number | null>();
  const yOfLaunch = (lane: number, depth: number, stream: number) => {
    const key = `${lane} ${depth} ${stream}`;
    let y = launches.get(key);
    if (y === undefined) launches.set(key, (y = launchOnCanvas(scene, lane, depth, stream)?.y ?? null));
    return y;
  };
  ctx.lineWidth = 1;
  for (const [type, color] of [
    ["run", colors.arrow],
    ["backward", colors.accent],
    ["consumer", colors.handoff],
  ] as const) {
    ctx.strokeStyle = ctx.fillStyle = color;
    ctx.globalAlpha = flows.type.length > 1000 ? 0.22 : flows.type.length > 200 ? 0.45 : 0.8;
    ctx.beginPath();
    for (let i = 0; i < flows.type.length; i += 1) {
      if (flows.type[i] !== type) continue;
      const [lane, depth] = [flows.from_lane[i], flows.from_depth[i]];
      const y0 = type === "run" ? yOfLaunch(lane, depth, flows.to_lane[i]) : yOf(lane, depth);
      const y1 = yOf(flows.to_lane[i], flows.to_depth[i]);
      if (y0 === null || y1 === null) continue;
      const x0 = Math.max(-FAR, xOf(flows.from_t[i], range, width));
      const x1 = Math.min(width + FAR, xOf(flows.to_t[i], range, width));
      const bend = Math.max(8, Math.min(60, Math.abs(x1 - x0) / 2));
      ctx.moveTo(x0, y0);
      ctx.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
      ctx.moveTo(x1 - 4, y1 - 2.5);
      ctx.lineTo(x1, y1);
      ctx.lineTo(x1 - 4, y1 + 2.5);
    }
    ctx.stroke();
  }
  ctx.globalAlpha = 1;
}

const FAR = 4000;

function arrow(
  ctx: CanvasRenderingContext2D,
  x0: number,
  y0: number,
  x1: number,
  y1: number,
  colors: Ink,
  scene: Scene,
): void {
  if ((x0 < 0 && x1 < 0) || (x0 > scene.width && x1 > scene.width)) return;
  if ((y0 < TOP && y1 < TOP) || (y0 > scene.height && y1 > scene.height)) return;
  const ax = Math.max(-FAR, Math.min(scene.width + FAR, x0));
  const bx = Math.max(-FAR, Math.min(scene.width + FAR, x1));
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
