// The Step breakdown tab: one stacked bar a step, by activity or by phase, and the same as a table.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { barAt, clampBars, drawBars, type Bar, type BarData, type BarView } from "../charts/step-bars";
import { cutOf, type Cut } from "../charts/scale";
import { steps } from "../data";
import { DEFINITIONS, NOT_MEASURED } from "../definitions";
import { count, duration, exact, milliseconds, percent, plural } from "../format";
import { ACTIVITIES, ACTIVITY_LABELS, PHASE_LABELS, PHASES, type Activity, type Phase } from "../kinds";
import { ACTIVITY_COLORS, PHASE_COLORS } from "../palette";
import { adjust, nav, theme } from "../state";
import { measured, stepName, type Steps } from "../steps";
import { prepareCanvas } from "../ui/canvas";
import { Absent, Await } from "../ui/states";
import { Table, type Column } from "../ui/table";
import { CutNote } from "./cut-note";
import { openStep } from "./open-step";

export function StepsTab(): JSX.Element {
  return (
    <div class="page fill">
      <Await of={steps.now.value} what="the steps">
        {(all) => <Breakdown all={all} />}
      </Await>
    </div>
  );
}

export type By = "activity" | "phase";

/** Phases where they were recorded for more steps than the activity was. */
export function defaultBy(deep: number, phased: number): By {
  return phased > deep ? "phase" : "activity";
}

interface Part {
  key: string;
  label: string;
  title: string;
  color: string;
  values: (number | null)[];
}

function partsOf(all: Steps, by: By, colors: Record<string, string>): Part[] {
  const used = (values: (number | null)[]) => values.some((value) => value !== null && value > 0);
  if (by === "phase") {
    return PHASES.filter((key) => used(all.phase[key])).map((key: Phase) => ({
      key,
      label: PHASE_LABELS[key],
      title: DEFINITIONS.phaseNames[key],
      color: colors[key],
      values: all.phase[key],
    }));
  }
  return ACTIVITIES.filter((key) => used(all.activity[key])).map((key: Activity) => ({
    key,
    label: ACTIVITY_LABELS[key],
    title: DEFINITIONS.classes[key],
    color: colors[key],
    values: all.activity[key],
  }));
}

function Breakdown({ all }: { all: Steps }): JSX.Element {
  const deep = useMemo(() => measured(all.activity, all.count), [all]);
  const phased = useMemo(() => measured(all.phase, all.count), [all]);
  const by: By = nav.value.by ?? defaultBy(deep.length, phased.length);
  const share = nav.value.scale === "share";
  const within = by === "activity" ? deep : phased;
  const partial = within.length > 0 && within.length < all.count;
  const only = partial && (nav.value.steps ?? (by === "activity" ? "deep" : "all")) === "deep";
  const colors = (by === "phase" ? PHASE_COLORS : ACTIVITY_COLORS)[theme.value] as Record<string, string>;
  const parts = useMemo(() => partsOf(all, by, colors), [all, by, colors]);
  const data = useMemo<BarData>(
    () => ({
      rows: only ? within : all.id.map((_, i) => i),
      name: (row: number) => stepName(all, row),
      number: (row: number) => all.id[row],
      parts,
      whole: by === "phase" ? all.host.map((ns, i) => ns ?? all.duration[i]) : all.duration,
      share,
    }),
    [all, parts, only, share, by],
  );
  const [uncut, setUncut] = useState(false);
  const cut = useMemo(() => cutOf(data.rows.map((row) => data.whole[row])), [data]);
  if (all.count === 0) {
    return (
      <Absent>
        No steps were seen. The PyTorch hook and the Keras callback mark them by themselves; in a loop of your own call
        prof.step() after each step.
      </Absent>
    );
  }
  return (
    <>
      <div class="toolbar">
        <Toggle
          label="Divide by"
          value={by}
          choices={[
            { value: "activity", label: "Activity", title: DEFINITIONS.activity, off: deep.length === 0 && "No step was captured in depth" },
            { value: "phase", label: "Phase", title: DEFINITIONS.phases, off: phased.length === 0 && "Phases were not recorded" },
          ]}
          onChoose={(value) => adjust({ by: value as By })}
        />
        <Toggle
          label="Scale"
          value={share ? "share" : "absolute"}
          choices={[
            { value: "absolute", label: "Time", title: "Height is time" },
            { value: "share", label: "Share", title: "Height is the share of the step" },
          ]}
          onChoose={(value) => adjust({ scale: value as "absolute" | "share" })}
        />
        {partial && (
          <Toggle
            label="Steps"
            value={only ? "deep" : "all"}
            choices={[
              { value: "all", label: `All ${count(all.count)}`, title: "Steps without this division stand as grey bars" },
              { value: "deep", label: by === "activity" ? `In depth ${count(within.length)}` : `With phases ${count(within.length)}` },
            ]}
            onChoose={(value) => adjust({ steps: value as "all" | "deep" })}
          />
        )}
        {cut && !share && (
          <CutNote cut={cut} open={uncut} onToggle={() => setUncut(!uncut)} />
        )}
        <span class="spacer" />
        <Legend parts={parts} grey={!only && partial} />
      </div>
      <Bars all={all} data={data} parts={parts} by={by} cut={share || uncut ? null : cut} />
      <StepTable all={all} rows={data.rows} parts={parts} />
    </>
  );
}

interface ToggleChoice {
  value: string;
  label: string;
  title?: string;
  off?: string | false;
}

function Toggle(props: { label: string; value: string; choices: ToggleChoice[]; onChoose: (value: string) => void }): JSX.Element {
  return (
    <div class="segmented" role="group" aria-label={props.label}>
      {props.choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          aria-pressed={props.value === choice.value}
          disabled={Boolean(choice.off)}
          title={choice.off || choice.title}
          onClick={() => props.onChoose(choice.value)}
        >
          {choice.label}
        </button>
      ))}
    </div>
  );
}

function Legend({ parts, grey }: { parts: Part[]; grey: boolean }): JSX.Element {
  return (
    <ul class="inline-legend" aria-label="Colours">
      {parts.map((part) => (
        <li key={part.key} title={part.title}>
          <span class="swatch" style={{ background: part.color }} />
          {part.label}
        </li>
      ))}
      {grey && (
        <li title="These steps were timed, but not divided">
          <span class="swatch grey" />
          Not captured
        </li>
      )}
    </ul>
  );
}

function Bars(props: { all: Steps; data: BarData; parts: Part[]; by: By; cut: Cut | null }): JSX.Element {
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
    if (ctx) bars.current = drawBars(ctx, { ...size, theme: theme.value, data, view: shown, hover: hover?.at ?? null, top: cut?.top ?? null });
  });

  const drag = useRef<{ x: number; from: number; moved: boolean } | null>(null);
  const move = (event: PointerEvent) => {
    if (drag.current) {
      const span = shown.to - shown.from;
      const by = ((drag.current.x - event.offsetX) / Math.max(size.width - 74, 1)) * span;
      if (Math.abs(drag.current.x - event.offsetX) > 4) drag.current.moved = true;
      if (drag.current.moved) setView(clampBars({ from: drag.current.from + by, to: drag.current.from + by + span }, n));
      return;
    }
    const at = barAt(event.offsetX, { width: size.width, view: shown }, n);
    setHover(at === null ? null : { at, x: event.offsetX, y: event.offsetY });
  };
  const onKey = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const at = hover?.at ?? Math.floor(shown.from);
    if (event.key === "Enter" && hover) openStep(all, data.rows[hover.at]);
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
          if (was && !was.moved && at !== null) openStep(all, data.rows[at]);
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
    <div class="tip" style={{ left: left ? undefined : `${hover.x + 14}px`, right: left ? `${props.width - hover.x + 14}px` : undefined, top: "14px" }}>
      <div class="tip-title">
        {many ? `Steps ${stepName(all, rows[0])} to ${stepName(all, rows[rows.length - 1])}, mean` : `Step ${stepName(all, rows[0])}`}
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
        <p class="tip-note">{all.complete[rows[0]] ? "Click to open in the timeline." : "Cut at the end of the capture."}</p>
      )}
    </div>
  );
}

function StepTable({ all, rows, parts }: { all: Steps; rows: number[]; parts: Part[] }): JSX.Element {
  const columns = useMemo<Column[]>(() => {
    const time = (key: string, label: string, title: string, values: (number | null)[]): Column => ({
      key,
      label,
      title: `${title} In ms.`,
      numeric: true,
      value: (i) => values[rows[i]],
      cell: (i) => milliseconds(values[rows[i]]),
      hint: (i) => (values[rows[i]] === null ? NOT_MEASURED : exact(values[rows[i]])),
    });
    const first = all.start[0] ?? 0;
    return [
      { key: "id", label: "Step", width: 84, numeric: true, value: (i) => all.id[rows[i]], cell: (i) => count(all.id[rows[i]]), hint: (i) => all.label[rows[i]] ?? "" },
      {
        key: "label",
        label: "Marker",
        width: 190,
        value: (i) => all.label[rows[i]],
        cell: (i) => (
          <>
            {all.label[rows[i]] ?? ""}
            {!all.complete[rows[i]] && <span class="tag">incomplete</span>}
            {all.inferred[rows[i]] && <span class="tag">inferred</span>}
          </>
        ),
        hint: (i) => all.label[rows[i]] ?? "",
      },
      {
        key: "start",
        label: "Start (s)",
        title: "Since the first step began.",
        numeric: true,
        value: (i) => all.start[rows[i]],
        cell: (i) => ((all.start[rows[i]] - first) / 1e9).toFixed(3),
      },
      time("duration", "Duration (ms)", DEFINITIONS.stepDuration, all.duration),
      time("host", "Host (ms)", DEFINITIONS.stepHost, all.host),
      ...parts.map((part) => time(part.key, part.label, part.title, part.values)),
    ];
  }, [all, rows, parts]);
  return (
    <Table
      name="Steps"
      testId="step"
      count={rows.length}
      columns={columns}
      initial={{ key: "id", descending: false }}
      onOpen={(i) => openStep(all, rows[i])}
      version={rows}
    />
  );
}
