// Mouse, wheel and keyboard of the timeline's canvas, as changes of the model.

import { duration } from "../format";
import { placeOn, rowsBetween, sliceAt, type SliceHit } from "./hit";
import { TOP, xOf } from "./scene";
import type { TimelineModel } from "./model";
import { ROW_PITCH } from "./tree";
import { around, clamp, pan, span, zoomAt } from "./viewport";

const CLICK_SLACK = 4; // pixels that a hand may tremble within a click
const WHEEL_ZOOM = 0.0018; // per pixel of wheel
const PINCH_ZOOM = 0.01; // trackpads report pinches as small wheel turns with ctrl

function timeAt(model: TimelineModel, x: number): number {
  const range = model.range.peek();
  return range.t0 + (x / Math.max(model.width.peek(), 1)) * span(range);
}

/** What lies under a point of the canvas; y counts from its top. */
export function hitAt(model: TimelineModel, x: number, y: number): SliceHit | null {
  const place = y < TOP ? null : placeOn(model.bands.peek(), y);
  if (!place) return null;
  return sliceAt(model.tiles, place, timeAt(model, x), model.range.peek(), model.width.peek());
}

/** Zoom on the marked interval, else on the selected slice; again, or without either, to the whole trace. */
export function fitSelection(model: TimelineModel): void {
  const measure = model.measure.peek();
  const slice = model.selectedHere.peek();
  const whole = model.whole.peek();
  const target = measure
    ? clamp(measure, whole)
    : slice
      ? around(slice.start, slice.start + slice.dur, whole)
      : model.whole.peek();
  const now = model.range.peek();
  const slack = span(target) * 1e-6 + 1;
  const there = Math.abs(now.t0 - target.t0) < slack && Math.abs(now.t1 - target.t1) < slack;
  if (there) model.showAll();
  else model.setRange(target);
}

/** Mark the selected slice's time on its lane: an area of its own. */
export function markSelection(model: TimelineModel): void {
  const slice = model.selectedHere.peek();
  if (slice && slice.dur > 0) {
    model.mark({ t0: slice.start, t1: slice.start + slice.dur }, slice.lane >= 0 ? [slice.lane] : null);
    model.panel.value = "area";
  }
}

function selectLongest(model: TimelineModel): void {
  const range = model.range.peek();
  let best = -1;
  let longest = -1;
  for (const lane of model.visibleLanes()) {
    const slices = model.tiles.detail.get(lane)?.slices;
    const row = model.layout.peek().index.get(lane) ?? model.pinned.peek().index.get(lane);
    if (!slices || !row) continue;
    const last = slices.rows[Math.min(row.first + row.rows, slices.rows.length - 1)];
    for (let i = slices.rows[row.first] ?? last; i < last; i += 1) {
      const end = slices.start[i] + slices.dur[i];
      if (slices.count[i] === 1 && slices.start[i] >= range.t0 && end <= range.t1 && slices.dur[i] > longest) {
        longest = slices.dur[i];
        best = slices.row[i];
      }
    }
  }
  if (best >= 0) void model.jump(best);
}

const EDGE = 5; // pixels around an edge of the marked interval that take hold of it

type Drag =
  | { kind: "maybe" | "pan"; x: number; y: number; onPins: boolean }
  | { kind: "mark"; x: number; y: number; t: number; onRuler: boolean }
  | { kind: "edge"; other: number };

export function attachPointer(canvas: HTMLCanvasElement, model: TimelineModel): () => void {
  let drag: Drag | null = null;
  const touches = new Map<number, { x: number; y: number }>();
  const point = (event: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const onPins = (y: number) => y >= TOP && y < TOP + model.pinnedHeight.peek();

  /** The edge of the marked interval at x: the time of the other one. */
  const edgeAt = (x: number): number | null => {
    const measure = model.measure.peek();
    if (!measure) return null;
    const range = model.range.peek();
    const width = model.width.peek();
    if (Math.abs(xOf(measure.t0, range, width) - x) <= EDGE) return measure.t1;
    return Math.abs(xOf(measure.t1, range, width) - x) <= EDGE ? measure.t0 : null;
  };

  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const { x, y } = point(event);
    canvas.setPointerCapture(event.pointerId);
    if (event.pointerType === "touch") {
      touches.set(event.pointerId, { x, y });
      if (touches.size === 2) {
        drag = null; // two fingers zoom
        return;
      }
    }
    const other = edgeAt(x);
    if (other !== null && !event.shiftKey) drag = { kind: "edge", other };
    else if (event.shiftKey || y < TOP) drag = { kind: "mark", x, y, t: timeAt(model, x), onRuler: y < TOP };
    else drag = { kind: "maybe", x, y, onPins: onPins(y) };
  };

  const pinch = (event: PointerEvent) => {
    const [a, b] = [...touches.entries()].map(([id, at]) =>
      id === event.pointerId ? { before: at, now: point(event) } : { before: at, now: at },
    );
    const before = Math.max(20, Math.abs(a.before.x - b.before.x));
    const now = Math.max(20, Math.abs(a.now.x - b.now.x));
    const middle = (a.before.x + b.before.x) / 2;
    const moved = (a.now.x + b.now.x) / 2 - middle;
    const whole = model.whole.peek();
    const zoomed = zoomAt(model.range.peek(), whole, timeAt(model, middle), before / now);
    model.setRange(pan(zoomed, whole, -moved / Math.max(model.width.peek(), 1)));
    touches.set(event.pointerId, point(event));
  };

  const mark = (from: Drag & { kind: "mark" }, x: number, y: number) => {
    const t = timeAt(model, x);
    const ids = from.onRuler ? null : rowsBetween(model.bands.peek(), Math.max(from.y, TOP), Math.max(y, TOP));
    const lanes = ids && [...new Set(ids.map((row) => row.node.info.id))].filter((id) => id >= 0);
    model.mark({ t0: Math.min(from.t, t), t1: Math.max(from.t, t) }, lanes);
    model.panel.value = "area";
  };

  const move = (event: PointerEvent) => {
    const { x, y } = point(event);
    if (touches.size === 2 && touches.has(event.pointerId)) return pinch(event);
    model.pointerX.value = x;
    if (!drag) {
      model.hover.value = hitAt(model, x, y);
      model.pointerY.value = y;
      canvas.style.cursor = edgeAt(x) !== null ? "ew-resize" : y < TOP ? "text" : "";
      return;
    }
    if (drag.kind === "edge") {
      const t = timeAt(model, x);
      const lanes = model.marked;
      model.mark({ t0: Math.min(drag.other, t), t1: Math.max(drag.other, t) }, lanes);
    } else if (drag.kind === "mark") {
      if (Math.abs(x - drag.x) > CLICK_SLACK) mark(drag, x, y);
    } else {
      if (drag.kind === "maybe" && Math.hypot(x - drag.x, y - drag.y) > CLICK_SLACK) {
        drag.kind = "pan";
        model.hover.value = null;
        canvas.classList.add("dragging");
      }
      if (drag.kind === "pan") {
        model.setRange(pan(model.range.peek(), model.whole.peek(), (drag.x - x) / Math.max(model.width.peek(), 1)));
        if (drag.onPins) model.setPinScroll(model.pinScroll.peek() + drag.y - y);
        else model.setScroll(model.scroll.peek() + drag.y - y);
        drag.x = x;
        drag.y = y;
      }
    }
    if (event.pointerType === "touch" && touches.has(event.pointerId)) touches.set(event.pointerId, { x, y });
  };

  const up = (event: PointerEvent) => {
    const { x, y } = point(event);
    touches.delete(event.pointerId);
    if (drag?.kind === "maybe") {
      const hit = hitAt(model, x, y);
      model.select(hit ? hit.slices.row[hit.index] : null, hit);
    } else if (drag?.kind === "mark" && Math.abs(x - drag.x) <= CLICK_SLACK) {
      model.mark(null);
    }
    drag = null;
    canvas.classList.remove("dragging");
  };

  const cancel = (event: PointerEvent) => {
    touches.delete(event.pointerId);
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
    if (event.altKey) {
      const place = placeOn(model.bands.peek(), point(event).y);
      if (place && place.row.node.info.id >= 0) model.desk.showFrom(place.row, place.row.first + Math.sign(dy || dx));
      return;
    }
    if (event.shiftKey) {
      if (onPins(point(event).y)) model.setPinScroll(model.pinScroll.peek() + (dy || dx));
      else model.setScroll(model.scroll.peek() + (dy || dx));
      return;
    }
    const range = model.range.peek();
    const whole = model.whole.peek();
    if (Math.abs(dx) > Math.abs(dy)) {
      model.setRange(pan(range, whole, dx / Math.max(model.width.peek(), 1)));
      return;
    }
    const pinched = event.ctrlKey && Math.abs(dy) < 50;
    const factor = Math.exp(Math.max(-160, Math.min(160, dy)) * (pinched ? PINCH_ZOOM : WHEEL_ZOOM));
    model.setRange(zoomAt(range, whole, timeAt(model, point(event).x), factor));
  };

  const listeners: [string, (event: never) => void][] = [
    ["pointerdown", down],
    ["pointermove", move],
    ["pointerup", up],
    ["pointercancel", cancel],
    ["pointerleave", leave],
    ["dblclick", double],
    ["wheel", wheel],
  ];
  for (const [type, listener] of listeners) {
    canvas.addEventListener(type, listener as EventListener, { passive: false });
  }
  return () => {
    for (const [type, listener] of listeners) canvas.removeEventListener(type, listener as EventListener);
  };
}

/** What keys do besides moving; they open parts of the page that the page itself knows. */
export interface KeyTargets {
  help: () => void;
  focus: (field: "search" | "step" | "filter" | "export") => void;
}

/** Cursors by the keyboard: the first press puts one, the second the other, a third begins anew. */
function putCursor(model: TimelineModel, first: { t: number | null }): void {
  const x = model.pointerX.peek() ?? model.width.peek() / 2;
  const t = timeAt(model, x);
  if (first.t === null) {
    first.t = t;
    model.mark({ t0: t, t1: t + span(model.range.peek()) / Math.max(model.width.peek(), 1) });
    model.said.value = "First cursor set";
  } else {
    model.mark({ t0: Math.min(first.t, t), t1: Math.max(first.t, t) });
    model.panel.value = "area";
    model.said.value = `Second cursor set, ${duration(Math.abs(t - first.t))} from the first`;
    first.t = null;
  }
}

/** The lane that keys act on: that under the pointer, else that of the selection. */
function laneInHand(model: TimelineModel): number | null {
  const x = model.pointerX.peek();
  const under = x === null ? null : placeOn(model.bands.peek(), model.pointerY.peek())?.row.node.info;
  if (under && under.id >= 0) return under.id;
  return model.selected.now.peek().value?.lane ?? null;
}

function actions(model: TimelineModel, targets: KeyTargets): Record<string, () => void> {
  const first: { t: number | null } = { t: null };
  const onLane = (act: (lane: number) => void) => () => {
    const lane = laneInHand(model);
    if (lane !== null) act(lane);
  };
  return {
    arrowdown: () => model.setScroll(model.scroll.peek() + 3 * ROW_PITCH),
    arrowup: () => model.setScroll(model.scroll.peek() - 3 * ROW_PITCH),
    f: () => fitSelection(model),
    "0": () => model.showAll(),
    ".": () => void (model.selected.now.peek().value ? model.neighbour(1) : selectLongest(model)),
    ",": () => void (model.selected.now.peek().value ? model.neighbour(-1) : selectLongest(model)),
    "]": () => model.moveStep(1),
    "[": () => model.moveStep(-1),
    g: () => targets.focus("step"),
    n: () => void model.stepHit(1),
    p: () => void model.stepHit(-1),
    "/": () => targets.focus("search"),
    h: () => model.toggleHighlight(),
    c: () => model.desk.nextColoring(),
    x: () => model.desk.toggleArrows(),
    m: () => putCursor(model, first),
    r: () => markSelection(model),
    z: () => {
      const measure = model.measure.peek();
      if (measure) model.setRange(measure);
    },
    b: () => model.openArea(),
    v: () => (model.panel.value = model.panel.peek() === "in-view" ? "selection" : "in-view"),
    l: () => targets.focus("filter"),
    i: () => model.desk.toggleIdle(),
    t: onLane((lane) => model.desk.togglePin(lane)),
    o: onLane((lane) => model.desk.toggleCompare(lane)),
    u: () => model.desk.foldAll(false),
    y: () => model.desk.foldAll(true),
    e: () => targets.focus("export"),
    "?": targets.help,
    enter: () => selectLongest(model),
    escape: () => {
      first.t = null;
      if (model.measure.peek()) model.mark(null);
      else model.select(null);
    },
  };
}

type Held = "w" | "s" | "a" | "d" | "arrowleft" | "arrowright";
const HELD = new Set<string>(["w", "s", "a", "d", "arrowleft", "arrowright"]);

/** Keys act wherever the focus is on the tab, except in fields and, for arrows and Enter, in other widgets. */
export function attachKeys(canvas: HTMLCanvasElement, model: TimelineModel, targets: KeyTargets): () => void {
  const acts = actions(model, targets);
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
    } else if (Object.hasOwn(acts, key)) acts[key]();
    else return;
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
