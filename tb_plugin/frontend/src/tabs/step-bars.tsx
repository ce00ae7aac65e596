// The stacked bars of the Step breakdown with their pointer, keys and tooltip.

import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { barAt, clampBars, drawBars, pixelOf, plotWidth, positionAt, type BarView } from "../charts/step-bars";
import type { BarsAnswer } from "../dashboard/requests";
import type { Range } from "../dashboard/view";
import { duration, percent, plural } from "../format";
import { theme } from "../state";
import { prepareCanvas } from "../ui/canvas";
import type { CardData } from "../ui/card";
import { nameOf, type Part } from "./step-parts";

/** The bars in numbers: each a step, or the mean of several. */
export function barsData(bars: BarsAnswer, parts: readonly Part[], share: boolean): CardData {
  const name = (ids: BarsAnswer["id"], labels: BarsAnswer["label"], places: number[], i: number) =>
    ids[i] ?? nameOf(null, labels[i], places[i]);
  return {
    columns: [
      { label: "First step", unit: "id" },
      { label: "Last step", unit: "id" },
      {
        label: "Steps",
        unit: "count",
        title: "In this bar. Durations are their mean, parts that of the divided ones.",
      },
      { label: "Divided", unit: "count", title: "Steps of the bar whose parts are known." },
      { label: "Duration", unit: "ns", title: "Mean of the steps of the bar." },
      { label: "Longest", unit: "ns", title: "The longest step of the bar." },
      ...parts.map(({ label, title }) => ({ label, title, unit: share ? ("ratio" as const) : ("ns" as const) })),
    ],
    rows: bars.first.map((_, i) => [
      name(bars.id, bars.label, bars.first, i),
      name(bars.last_id, bars.last_label, bars.last, i),
      bars.steps[i],
      bars.divided[i],
      bars.mean_ns[i],
      share ? null : bars.longest[i],
      ...parts.map(({ key }) => partOf(bars, key, i)),
    ]),
  };
}

const DRAG_SLACK = 4; // pixels that a click may move

export interface BarsProps {
  bars: BarsAnswer;
  parts: readonly Part[];
  share: boolean;
  top: number | null; // ns where the axis is cut
  view: BarView;
  range: Range | null;
  step: number | null;
  onView: (view: BarView | null) => void;
  onRange: (range: Range | null) => void;
  onStep: (step: number) => void;
  onWidth: (pixels: number) => void;
}

export function Bars(props: BarsProps): JSX.Element {
  const { bars, parts, view, share } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [hover, setHover] = useState<number | null>(null); // position among the steps that count
  const n = bars.count;
  const shown = clampBars(view, n);
  const now = useRef({ ...props, shown, n, width: 0 });
  now.current = { ...props, shown, n, width: size.width };

  // Measured and drawn before the frame is painted: the next one comes after all of this one is on the screen.
  useLayoutEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const observer = new ResizeObserver(() => {
      setSize({ width: element.clientWidth, height: element.clientHeight });
      now.current.onWidth(plotWidth(element.clientWidth));
    });
    observer.observe(element);
    const wheel = (event: WheelEvent) => {
      const { shown, n, width, onView } = now.current;
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
      if (!event.ctrlKey && !event.metaKey && !sideways) return; // the page scrolls
      event.preventDefault();
      const span = shown.to - shown.from;
      if (sideways && !event.ctrlKey) {
        const by = ((event.deltaX || event.deltaY) / plotWidth(width)) * span;
        onView(clampBars({ from: shown.from + by, to: shown.to + by }, n));
        return;
      }
      const at = positionAt(event.offsetX, width, shown, n) ?? shown.from;
      zoomAt(at, Math.exp(Math.max(-160, Math.min(160, event.deltaY)) * 0.004));
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      observer.disconnect();
      element.removeEventListener("wheel", wheel);
    };
  }, []);

  const zoomAt = (at: number, factor: number) => {
    const { shown, n, onView } = now.current;
    const from = at - (at - shown.from) * factor;
    const to = from + (shown.to - shown.from) * factor;
    onView(to - from >= n ? null : clampBars({ from, to }, n));
  };
  const at = barAt(bars, hover);
  const keys = parts.map((part) => part.key);

  useLayoutEffect(() => {
    const ctx = canvas.current && prepareCanvas(canvas.current, size.width, size.height);
    if (ctx)
      drawBars(ctx, {
        ...size,
        theme: theme.value,
        bars,
        keys,
        colors: parts.map((part) => part.color),
        view: shown,
        share,
        hover: at,
        range: props.range,
        step: props.step,
        top: props.top,
      });
  });

  const drag = useRef<{ x: number; bar: number; moved: boolean } | null>(null);
  const rangeOf = (a: number, b: number): Range => ({
    first: bars.first[Math.min(a, b)],
    last: bars.last[Math.max(a, b)],
  });
  const nearestBar = (x: number) => {
    const inside = Math.min(
      Math.max(x, pixelOf(shown.from, size.width, shown)),
      pixelOf(shown.to, size.width, shown) - 1,
    );
    const found = barAt(bars, positionAt(inside, size.width, shown, n) ?? n - 1);
    return found ?? bars.first.length - 1;
  };
  const open = (bar: number) => {
    if (bars.first[bar] === bars.last[bar]) props.onStep(bars.first[bar]);
    else props.onRange(rangeOf(bar, bar));
  };
  const move = (event: PointerEvent) => {
    const held = drag.current;
    if (held) {
      if (Math.abs(event.offsetX - held.x) > DRAG_SLACK) held.moved = true;
      if (held.moved) props.onRange(rangeOf(held.bar, nearestBar(event.offsetX)));
    }
    setHover(positionAt(event.offsetX, size.width, shown, n));
  };
  const onKey = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (event.key === "Enter" && at !== null) open(at);
    else if (event.key === "Escape") props.onRange(null);
    else if (event.key === "0") props.onView(null);
    else if (event.key === "+" || event.key === "=") zoomAt(hover ?? (shown.from + shown.to) / 2, 0.5);
    else if (event.key === "-") zoomAt(hover ?? (shown.from + shown.to) / 2, 2);
    else if (by !== 0) {
      const next = Math.min(bars.first.length - 1, Math.max(0, at === null ? (barAt(bars, shown.from) ?? 0) : at + by));
      const position = bars.begin + (next + 0.5) * bars.width;
      setHover(position);
      if (event.shiftKey && at !== null) {
        const { range } = props;
        const reach = rangeOf(at, next);
        props.onRange(
          range && bars.first[at] >= range.first && bars.last[at] <= range.last
            ? { first: Math.min(range.first, reach.first), last: Math.max(range.last, reach.last) }
            : reach,
        );
      }
      if (position < shown.from || position > shown.to) {
        const half = (shown.to - shown.from) / 2;
        props.onView(clampBars({ from: position - half, to: position + half }, n));
      }
    } else return;
    event.preventDefault();
  };
  return (
    <div class="bars">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label={`One stacked bar for each of ${plural(n, "step")}. Left and right move, Shift with them selects a range, Enter compares the step with the usual one, plus and minus zoom, 0 shows all. The table below holds the same numbers.`}
        data-testid="step-bars"
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          drag.current = { x: event.offsetX, bar: nearestBar(event.offsetX), moved: false };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={move}
        onPointerUp={(event) => {
          const was = drag.current;
          drag.current = null;
          const bar = barAt(bars, positionAt(event.offsetX, size.width, shown, n));
          if (was && !was.moved && bar !== null) open(bar);
        }}
        onPointerLeave={() => setHover(null)}
        onBlur={() => setHover(null)}
        onDblClick={() => props.onView(null)}
        onKeyDown={onKey}
      />
      {hover !== null && at !== null && drag.current === null && (
        <BarTip {...props} bar={at} x={pixelOf(hover, size.width, shown)} width={size.width} />
      )}
    </div>
  );
}

/** The mean of a part over the steps of a bar that are divided; the server tells sums of these divided by all steps. */
function partOf(bars: BarsAnswer, key: string, i: number): number | null {
  return bars.divided[i] > 0 ? (bars.parts[key][i] * bars.steps[i]) / bars.divided[i] : null;
}

function BarTip(props: BarsProps & { bar: number; x: number; width: number }): JSX.Element {
  const { bars, parts, share, bar: i, x } = props;
  const many = bars.steps[i] > 1;
  const left = x > props.width - 260;
  const mean = bars.mean_ns[i];
  return (
    <div
      class="tip"
      style={{
        left: left ? undefined : `${x + 14}px`,
        right: left ? `${props.width - x + 14}px` : undefined,
        top: "14px",
      }}
    >
      <div class="tip-title">
        {many
          ? `Steps ${nameOf(bars.id[i], bars.label[i], bars.first[i])} to ${nameOf(bars.last_id[i], bars.last_label[i], bars.last[i])}, mean`
          : `Step ${nameOf(bars.id[i], bars.label[i], bars.first[i])}`}
      </div>
      <dl>
        <div>
          <dt>Duration</dt>
          <dd>{duration(mean)}</dd>
        </div>
        {many && !share && (
          <div>
            <dt>Longest</dt>
            <dd>{duration(bars.longest[i])}</dd>
          </div>
        )}
        {parts.map((part) => {
          const value = partOf(bars, part.key, i);
          const ns = value === null || share ? null : value;
          const ratio = value === null ? null : share ? value : mean > 0 ? value / mean : null;
          return (
            <div key={part.key}>
              <dt>
                <span class="swatch" style={{ background: part.color }} />
                {part.label}
              </dt>
              <dd>
                {share ? percent(ratio) : duration(ns)}
                {!share && ratio !== null && !many && <span class="faint"> {percent(ratio)}</span>}
              </dd>
            </div>
          );
        })}
      </dl>
      {many ? (
        <p class="tip-note">
          {plural(bars.steps[i], "step")} in this bar
          {bars.divided[i] < bars.steps[i] && `, ${bars.divided[i]} of them divided`}. Click for their statistics.
        </p>
      ) : (
        <p class="tip-note">Click to compare it with the usual step.</p>
      )}
    </div>
  );
}
