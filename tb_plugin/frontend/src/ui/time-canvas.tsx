// A canvas over time with a cursor that all canvases of a page share: a drag zooms, a click chooses a moment.

import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { LEFT, RIGHT, tOf, xOf, type Plot } from "../charts/time-lines";
import { theme } from "../state";
import type { TimeRange } from "../time/view";
import { prepareCanvas } from "./canvas";

const LEAST_DRAG = 5; // pixels; less is a click

/** What the canvases of one page have in common. */
export interface TimeDesk {
  range: TimeRange;
  cursor: Signal<number | null>; // the time under the pointer
  moment: number | null; // the chosen time
  onZoom: (range: TimeRange | null) => void; // null: out to all of it
  onPick: (t: number | null) => void;
}

export function TimeCanvas(props: {
  desk: TimeDesk;
  height: number;
  axis?: boolean;
  label: string;
  testId: string;
  draw: (plot: Plot) => void;
  onRow?: (y: number | null) => void; // where the pointer is
}): JSX.Element {
  const { desk, height } = props;
  const { range } = desk;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const now = theme.value;
  const axis = props.axis ?? false;

  useLayoutEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const ctx = canvas.current && prepareCanvas(canvas.current, width, height);
    if (ctx) props.draw({ ctx, width, height, range, axis, theme: now });
  }, [width, height, range.t0, range.t1, axis, now, props.draw]);

  const within = (x: number) => Math.max(LEFT, Math.min(width - RIGHT, x));
  const at = (event: PointerEvent) => within(event.offsetX);
  const up = (event: PointerEvent) => {
    if (!drag) return;
    const [from, to] = [drag[0], at(event)];
    setDrag(null);
    if (Math.abs(to - from) < LEAST_DRAG) desk.onPick(tOf(to, range, width));
    else desk.onZoom({ t0: tOf(Math.min(from, to), range, width), t1: tOf(Math.max(from, to), range, width) });
  };
  return (
    <div class="time-canvas" style={{ height: `${height}px` }}>
      <canvas
        ref={canvas}
        style={{ height: `${height}px` }}
        tabIndex={0}
        role="application"
        aria-label={`${props.label}. Left and right move the cursor, plus and minus zoom, Enter chooses the moment, Escape shows all.`}
        data-testid={props.testId}
        onPointerMove={(event) => {
          const x = at(event);
          desk.cursor.value = tOf(x, range, width);
          props.onRow?.(event.offsetY);
          if (drag) setDrag([drag[0], x]);
        }}
        onPointerLeave={() => {
          props.onRow?.(null);
          if (!drag) desk.cursor.value = null;
        }}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          setDrag([at(event), at(event)]);
        }}
        onPointerUp={up}
        onPointerCancel={() => setDrag(null)}
        onDblClick={() => desk.onZoom(null)}
        onBlur={() => (desk.cursor.value = null)}
        onKeyDown={(event) => onKey(event, desk)}
      />
      <Marks desk={desk} width={width} drag={drag} />
    </div>
  );
}

/** The lines over a canvas; of their own, so that a moving pointer draws no curve anew. */
function Marks(props: { desk: TimeDesk; width: number; drag: [number, number] | null }): JSX.Element {
  const { desk, width, drag } = props;
  const cursor = desk.cursor.value;
  const place = (t: number | null) =>
    t === null || width === 0 || t < desk.range.t0 || t > desk.range.t1 ? null : xOf(t, desk.range, width);
  const [at, chosen] = [place(cursor), place(desk.moment)];
  return (
    <>
      {chosen !== null && <span class="time-mark chosen" style={{ left: `${chosen}px` }} />}
      {at !== null && <span class="time-mark no-picture" style={{ left: `${at}px` }} />}
      {drag && Math.abs(drag[1] - drag[0]) >= LEAST_DRAG && (
        <span class="time-drag" style={{ left: `${Math.min(...drag)}px`, width: `${Math.abs(drag[1] - drag[0])}px` }} />
      )}
    </>
  );
}

function onKey(event: KeyboardEvent, desk: TimeDesk): void {
  const { range, cursor } = desk;
  const width = range.t1 - range.t0;
  const at = cursor.peek() ?? desk.moment ?? (range.t0 + range.t1) / 2;
  const move = (by: number) => (cursor.value = Math.max(range.t0, Math.min(range.t1, at + by * width)));
  const zoom = (factor: number) =>
    desk.onZoom({ t0: at - (at - range.t0) * factor, t1: at + (range.t1 - at) * factor });
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "ArrowRight") move(event.shiftKey ? 0.1 : 0.01);
  else if (event.key === "ArrowLeft") move(event.shiftKey ? -0.1 : -0.01);
  else if (event.key === "+" || event.key === "=") zoom(0.5);
  else if (event.key === "-") zoom(2);
  else if (event.key === "Enter") desk.onPick(at);
  else if (event.key === "Escape") desk.onZoom(null);
  else return;
  event.preventDefault();
  event.stopPropagation();
}
