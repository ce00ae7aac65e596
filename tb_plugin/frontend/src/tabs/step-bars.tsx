// The stacked bars of the Step breakdown with their pointer, keys and tooltip.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Cut } from "../charts/scale";
import { barAt, clampBars, drawBars, type Bar, type BarData, type BarView } from "../charts/step-bars";
import { duration, percent, plural } from "../format";
import { theme } from "../state";
import { stepName, type Steps } from "../steps";
import { prepareCanvas } from "../ui/canvas";
import { openStep } from "./open-step";
import type { By, Part } from "./step-parts";

export function Bars(props: { all: Steps; data: BarData; parts: Part[]; by: By; cut: Cut | null }): JSX.Element {
  const { all, data, parts, by, cut } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [view, setView] = useState<BarView | null>(null); // null: all
  const [hover, setHover] = useState<{ at: number; x: number; y: number } | null>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const bars = useRef<Bar[]>([]);
  const n = data.rows.length;
  const shown = clampBars(view ?? { from: 0, to: n }, n);
  const state = useRef({ shown, n, width: 0 });
  state.current = { shown, n, width: size.width };

  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    observer.observe(element);
    const wheel = (event: WheelEvent) => {
      const { shown, n, width } = state.current;
      if (n <= 5) return;
      event.preventDefault();
      const at = barAt(event.offsetX, { width, view: shown }, n) ?? shown.from;
      const span = shown.to - shown.from;
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
        const by = ((event.deltaX || event.deltaY) / Math.max(width, 1)) * span;
        setView(clampBars({ from: shown.from + by, to: shown.to + by }, n));
        return;
      }
      const factor = Math.exp(Math.max(-160, Math.min(160, event.deltaY)) * 0.0018);
      const from = at - (at - shown.from) * factor;
      const to = from + span * factor;
      setView(to - from >= n ? null : clampBars({ from, to }, n));
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      observer.disconnect();
      element.removeEventListener("wheel", wheel);
    };
  }, []);
  useEffect(() => setView(null), [by, n === 0]);

  useEffect(() => {
    const ctx = canvas.current && prepareCanvas(canvas.current, size.width, size.height);
    if (ctx)
      bars.current = drawBars(ctx, {
        ...size,
        theme: theme.value,
        data,
        view: shown,
        hover: hover?.at ?? null,
        top: cut?.top ?? null,
      });
  });

  const drag = useRef<{ x: number; from: number; moved: boolean } | null>(null);
  const move = (event: PointerEvent) => {
    if (drag.current) {
      const span = shown.to - shown.from;
      const by = ((drag.current.x - event.offsetX) / Math.max(size.width - 74, 1)) * span;
      if (Math.abs(drag.current.x - event.offsetX) > 4) drag.current.moved = true;
      if (drag.current.moved)
        setView(clampBars({ from: drag.current.from + by, to: drag.current.from + by + span }, n));
      return;
    }
    const at = barAt(event.offsetX, { width: size.width, view: shown }, n);
    setHover(at === null ? null : { at, x: event.offsetX, y: event.offsetY });
  };
  const onKey = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const at = hover?.at ?? Math.floor(shown.from);
    if (event.key === "Enter" && hover) openStep(all.origin, all, data.rows[hover.at]);
    else if (by !== 0) {
      const next = Math.min(n - 1, Math.max(0, at + by));
      const x = 64 + ((next + 0.5 - shown.from) / (shown.to - shown.from)) * Math.max(1, size.width - 74);
      setHover({ at: next, x, y: 40 });
    } else if (event.key === "0") setView(null);
    else return;
    event.preventDefault();
  };
  const bar = hover && bars.current.find((b) => hover.at >= b.from && hover.at < b.to);
  return (
    <div class="bars">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label={`One stacked bar for each of ${plural(n, "step")}. Left and right move, Enter opens the step in the timeline. The table below holds the same numbers.`}
        data-testid="step-bars"
        onPointerDown={(event) => {
          drag.current = { x: event.offsetX, from: shown.from, moved: false };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={move}
        onPointerUp={(event) => {
          const was = drag.current;
          drag.current = null;
          const at = barAt(event.offsetX, { width: size.width, view: shown }, n);
          if (was && !was.moved && at !== null) openStep(all.origin, all, data.rows[at]);
        }}
        onPointerLeave={() => setHover(null)}
        onBlur={() => setHover(null)}
        onDblClick={() => setView(null)}
        onKeyDown={onKey}
      />
      {view !== null && (
        <button type="button" class="bars-reset" onClick={() => setView(null)}>
          All steps
        </button>
      )}
      {hover && bar && <BarTip all={all} data={data} parts={parts} bar={bar} hover={hover} width={size.width} />}
    </div>
  );
}

function BarTip(props: {
  all: Steps;
  data: BarData;
  parts: Part[];
  bar: Bar;
  hover: { at: number; x: number; y: number };
  width: number;
}): JSX.Element {
  const { all, data, parts, bar, hover } = props;
  const rows = data.rows.slice(bar.from, bar.to);
  const many = rows.length > 1;
  const mean = (values: (number | null)[]) => {
    const told = rows.map((row) => values[row]).filter((value): value is number => value !== null);
    return told.length === 0 ? null : told.reduce((a, b) => a + b, 0) / told.length;
  };
  const whole = mean(data.whole);
  const left = hover.x > props.width - 260;
  return (
    <div
      class="tip"
      style={{
        left: left ? undefined : `${hover.x + 14}px`,
        right: left ? `${props.width - hover.x + 14}px` : undefined,
        top: "14px",
      }}
    >
      <div class="tip-title">
        {many
          ? `Steps ${stepName(all, rows[0])} to ${stepName(all, rows[rows.length - 1])}, mean`
          : `Step ${stepName(all, rows[0])}`}
      </div>
      <dl>
        <div>
          <dt>Duration</dt>
          <dd>{duration(mean(all.duration))}</dd>
        </div>
        {parts.map((part) => {
          const value = mean(part.values);
          return (
            <div key={part.key}>
              <dt>
                <span class="swatch" style={{ background: part.color }} />
                {part.label}
              </dt>
              <dd>
                {duration(value)}
                {value !== null && whole !== null && whole > 0 && <span class="faint"> {percent(value / whole)}</span>}
              </dd>
            </div>
          );
        })}
      </dl>
      {many ? (
        <p class="tip-note">{plural(rows.length, "step")} in this bar; zoom in for single steps.</p>
      ) : (
        <p class="tip-note">
          {all.complete[rows[0]] ? "Click to open in the timeline." : "Cut at the end of the capture."}
        </p>
      )}
    </div>
  );
}
