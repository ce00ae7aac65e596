// Mouse, wheel and keyboard of the timeline's canvas, as changes of the model.

import { tileAt, placeAt, sliceAt, type SliceHit } from "./hit";
import { TOP } from "./scene";
import type { TimelineModel } from "./model";
import { ROW_PITCH } from "./tree";
import { pan, span, zoomAt } from "./viewport";

const CLICK_SLACK = 4; // pixels that a hand may tremble within a click
const WHEEL_ZOOM = 0.0018; // per pixel of wheel
const PINCH_ZOOM = 0.01; // trackpads report pinches as small wheel turns with ctrl

function timeAt(model: TimelineModel, x: number): number {
  const range = model.range.peek();
  return range.t0 + (x / Math.max(model.width.peek(), 1)) * span(range);
}

/** What lies under a point of the canvas; y counts from its top. */
export function hitAt(model: TimelineModel, x: number, y: number): SliceHit | null {
  if (y < TOP) return null;
  const place = placeAt(model.layout.peek(), y - TOP + model.scroll.peek());
  if (!place) return null;
  return sliceAt(model.tiles, place, timeAt(model, x), model.range.peek(), model.width.peek());
}

/** Zoom on what is selected, else on the marked interval. */
export function fitSelection(model: TimelineModel): void {
  const measure = model.measure.peek();
  const slice = model.selected.now.peek().value;
  if (measure) model.setRange(measure);
  else if (slice) model.zoomTo(slice.start, slice.start + slice.dur);
}

/** The slice before or after the selected one in its lane and depth; merged ones count as their longest. */
function neighbour(model: TimelineModel, by: 1 | -1): void {
  const slice = model.selected.now.peek().value;
  if (!slice) return selectLongest(model);
  const slices = tileAt(model.tiles, slice.lane, slice.start)?.slices;
  if (!slices || slice.depth >= slices.rows.length - 1) return;
  const from = slices.rows[slice.depth];
  const to = slices.rows[slice.depth + 1];
  let at = -1;
  for (let i = from; i < to; i += 1) {
    if (slices.start[i] + slices.dur[i] >= slice.start && slices.start[i] <= slice.start) at = i;
    if (slices.row[i] === slice.row) {
      at = i;
      break;
    }
  }
  const next = at + by;
  if (at >= 0 && next >= from && next < to) void model.jump(slices.row[next]);
}

/** The way in for the keyboard: the longest slice of the visible lanes. */
function selectLongest(model: TimelineModel): void {
  const range = model.range.peek();
  let best = -1;
  let longest = -1;
  for (const lane of model.visibleLanes()) {
    const slices = model.tiles.detail.get(lane)?.slices;
    if (!slices) continue;
    for (let i = 0; i < slices.start.length; i += 1) {
      const end = slices.start[i] + slices.dur[i];
      if (slices.count[i] === 1 && slices.start[i] >= range.t0 && end <= range.t1 && slices.dur[i] > longest) {
        longest = slices.dur[i];
        best = slices.row[i];
      }
    }
  }
  if (best >= 0) void model.jump(best);
}

export function attachPointer(canvas: HTMLCanvasElement, model: TimelineModel): () => void {
  let drag: { x: number; y: number; t: number; kind: "maybe" | "pan" | "mark" } | null = null;
  const point = (event: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const { x, y } = point(event);
    const marks = event.shiftKey || y < TOP;
    drag = { x, y, t: timeAt(model, x), kind: marks ? "mark" : "maybe" };
    if (marks) model.measure.value = null;
    canvas.setPointerCapture(event.pointerId);
  };

  const move = (event: PointerEvent) => {
    const { x, y } = point(event);
    model.pointerX.value = x;
    if (!drag) {
      model.hover.value = hitAt(model, x, y);
      model.pointerY.value = y;
      return;
    }
    if (drag.kind === "mark") {
      const t = timeAt(model, x);
      if (Math.abs(x - drag.x) > CLICK_SLACK) {
        model.measure.value = { t0: Math.min(drag.t, t), t1: Math.max(drag.t, t) };
      }
      return;
    }
    if (drag.kind === "maybe" && Math.hypot(x - drag.x, y - drag.y) > CLICK_SLACK) {
      drag.kind = "pan";
      model.hover.value = null;
      canvas.classList.add("dragging");
    }
    if (drag.kind === "pan") {
      model.setRange(pan(model.range.peek(), model.whole.peek(), (drag.x - x) / Math.max(model.width.peek(), 1)));
      model.setScroll(model.scroll.peek() + drag.y - y);
      drag.x = x;
      drag.y = y;
    }
  };

  const up = (event: PointerEvent) => {
    const { x, y } = point(event);
    if (drag?.kind === "maybe") {
      const hit = hitAt(model, x, y);
      model.measure.value = null;
      model.select(hit ? hit.slices.row[hit.index] : null);
    }
    drag = null;
    canvas.classList.remove("dragging");
  };

  const leave = () => {
    model.hover.value = null;
    model.pointerX.value = null;
  };

  const double = (event: MouseEvent) => {
    const { x, y } = point(event);
    const hit = hitAt(model, x, y);
    if (hit) {
      const start = hit.slices.start[hit.index];
      model.zoomTo(start, start + hit.slices.dur[hit.index]);
    }
  };

  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 30 : 1;
    const dx = event.deltaX * unit;
    const dy = event.deltaY * unit;
    if (event.shiftKey) {
      model.setScroll(model.scroll.peek() + (dy || dx));
      return;
    }
    const range = model.range.peek();
    const whole = model.whole.peek();
    if (Math.abs(dx) > Math.abs(dy)) {
      model.setRange(pan(range, whole, dx / Math.max(model.width.peek(), 1)));
      return;
    }
    const pinch = event.ctrlKey && Math.abs(dy) < 50;
    const factor = Math.exp(Math.max(-160, Math.min(160, dy)) * (pinch ? PINCH_ZOOM : WHEEL_ZOOM));
    model.setRange(zoomAt(range, whole, timeAt(model, point(event).x), factor));
  };

  canvas.addEventListener("pointerdown", down);
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("dblclick", double);
  canvas.addEventListener("wheel", wheel, { passive: false });
  return () => {
    canvas.removeEventListener("pointerdown", down);
    canvas.removeEventListener("pointermove", move);
    canvas.removeEventListener("pointerup", up);
    canvas.removeEventListener("pointerleave", leave);
    canvas.removeEventListener("dblclick", double);
    canvas.removeEventListener("wheel", wheel);
  };
}

type Held = "w" | "s" | "a" | "d" | "arrowleft" | "arrowright";
const HELD = new Set<string>(["w", "s", "a", "d", "arrowleft", "arrowright"]);

/** Keys act wherever the focus is on the tab, except in fields and, for arrows and Enter, in other widgets. */
export function attachKeys(canvas: HTMLCanvasElement, model: TimelineModel, help: () => void): () => void {
  const held = new Set<Held>();
  let frame = 0;
  let last = 0;

  const center = () => {
    const x = model.pointerX.peek();
    return timeAt(model, x ?? model.width.peek() / 2);
  };
  const act = (key: Held, ms: number) => {
    const range = model.range.peek();
    const whole = model.whole.peek();
    if (key === "w") model.setRange(zoomAt(range, whole, center(), Math.exp(-ms * 0.0028)));
    else if (key === "s") model.setRange(zoomAt(range, whole, center(), Math.exp(ms * 0.0028)));
    else model.setRange(pan(range, whole, (key === "a" || key === "arrowleft" ? -1 : 1) * ms * 0.0011));
  };
  const loop = (now: number) => {
    if (held.size === 0) return;
    const ms = Math.min(50, now - last);
    last = now;
    for (const key of held) act(key, ms);
    frame = requestAnimationFrame(loop);
  };

  const down = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (target.closest("input, textarea, select, dialog, [role=listbox]")) return;
    const free = target === canvas || target === document.body;
    const key = event.key.toLowerCase();
    if ((key.startsWith("arrow") || key === "enter") && !free) return;
    if (HELD.has(key)) {
      if (!held.has(key as Held)) {
        act(key as Held, 90); // a tap moves at once
        held.add(key as Held);
        if (held.size === 1) {
          last = performance.now();
          frame = requestAnimationFrame(loop);
        }
      }
    } else if (key === "arrowdown") model.setScroll(model.scroll.peek() + 3 * ROW_PITCH);
    else if (key === "arrowup") model.setScroll(model.scroll.peek() - 3 * ROW_PITCH);
    else if (key === "f") fitSelection(model);
    else if (key === "0") model.showAll();
    else if (key === ".") neighbour(model, 1);
    else if (key === ",") neighbour(model, -1);
    else if (key === "n") void model.stepFound(1);
    else if (key === "p") void model.stepFound(-1);
    else if (key === "?") help();
    else if (key === "enter") selectLongest(model);
    else if (key === "escape") {
      model.measure.value = null;
      model.select(null);
    } else return;
    event.preventDefault();
  };
  const up = (event: KeyboardEvent) => held.delete(event.key.toLowerCase() as Held);
  const blur = () => held.clear();

  document.addEventListener("keydown", down);
  document.addEventListener("keyup", up);
  window.addEventListener("blur", blur);
  return () => {
    cancelAnimationFrame(frame);
    held.clear();
    document.removeEventListener("keydown", down);
    document.removeEventListener("keyup", up);
    window.removeEventListener("blur", blur);
  };
}
