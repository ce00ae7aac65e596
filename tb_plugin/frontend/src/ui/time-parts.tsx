// What stands around charts over time: the interval on show with its buttons, legends that follow the cursor, strips.

import type { ComponentChildren, JSX } from "preact";
import { useCallback, useMemo } from "preact/hooks";
import {
  drawsLimit,
  AXIS,
  drawLines,
  drawStrips,
  STRIP_HEIGHT,
  valueText,
  type Line,
  type Mark,
  type StripRow,
} from "../charts/time-lines";
import { duration, plural } from "../format";
import { Kind, PHASE_LABELS, PHASES, type Phase } from "../kinds";
import { kindColor, PHASE_COLORS } from "../palette";
import { navigate, theme } from "../state";
import { placeAt, spanOf, type TimeRange, type TimeView } from "../time/view";
import type { StripAnswer, StripsAnswer } from "../time/requests";
import type { CardData } from "./card";
import { Icon } from "./icons";
import { TimeCanvas, type TimeDesk } from "./time-canvas";

const LASTS: readonly [number, string][] = [
  [60, "last minute"],
  [300, "last 5 minutes"],
  [1800, "last 30 minutes"],
];

export function TimeToolbar(props: {
  view: TimeView;
  range: TimeRange;
  all: TimeRange;
  originNs: string;
  live: boolean;
  onView: (patch: Partial<TimeView>) => void;
  onZoom: (range: TimeRange | null) => void;
  chosen?: { desk: TimeDesk; strips: StripsAnswer | null; room: number }; // room: ns on each side of a moment
  children?: ComponentChildren;
}): JSX.Element {
  const { view, range, all, onView, onZoom } = props;
  const middle = (range.t0 + range.t1) / 2;
  const half = (range.t1 - range.t0) / 2;
  const zoom = (factor: number) => () => onZoom({ t0: middle - half * factor, t1: middle + half * factor });
  const isWhole = view.span === null && view.last === null;
  return (
    <div class="toolbar time-toolbar" role="group" aria-label="Interval on show">
      <div class="buttons">
        <button type="button" aria-label="Zoom in" title="Zoom in (+)" onClick={zoom(0.5)}>
          <Icon shape="plus" />
        </button>
        <button type="button" aria-label="Zoom out" title="Zoom out (−)" disabled={isWhole} onClick={zoom(2)}>
          <Icon shape="minus" />
        </button>
        <button
          type="button"
          aria-label="Show all"
          title="Show all (Escape)"
          disabled={isWhole}
          onClick={() => onZoom(null)}
        >
          <Icon shape="whole" />
        </button>
      </div>
      <span data-testid="time-range" data-t0={range.t0} data-t1={range.t1}>
        {isWhole
          ? `all ${duration(all.t1 - all.t0)}`
          : `${duration(range.t0)} to ${duration(range.t1)}, ${duration(range.t1 - range.t0)}`}
      </span>
      {props.live && (
        <label class="field">
          <span class="faint">Show</span>
          <select
            value={view.last ?? ""}
            data-testid="time-last"
            onChange={(event) => onView({ last: Number(event.currentTarget.value) || null, span: null })}
          >
            <option value="">everything</option>
            {LASTS.map(([seconds, label]) => (
              <option key={seconds} value={seconds}>
                {label}
              </option>
            ))}
          </select>
        </label>
      )}
      {props.children}
      <span class="spacer" />
      {props.chosen && <Moment {...props.chosen} originNs={props.originNs} />}
      <button
        type="button"
        class="button"
        data-testid="open-interval"
        title="The interval on show, in the timeline"
        onClick={() => openInterval(props.originNs, range)}
      >
        Open interval in timeline
      </button>
    </div>
  );
}

/** What the chosen moment was, and the way to it in the timeline. */
function Moment(props: {
  desk: TimeDesk;
  strips: StripsAnswer | null;
  room: number;
  originNs: string;
}): JSX.Element | null {
  const { desk, strips, room } = props;
  const at = desk.moment;
  if (at === null) return null;
  const i = strips ? holding(strips.steps, at) : -1;
  const place =
    strips && i >= 0 && strips.steps.count[i] === 1
      ? { t0: strips.steps.start[i], t1: strips.steps.end[i] }
      : { t0: at - room, t1: at + room };
  return (
    <span class="moment" data-testid="moment">
      <b>{duration(Math.round(at))}</b>
      {nameAt(strips, at) || <span class="faint">no step</span>}
      <button
        type="button"
        class="button"
        data-testid="open-moment"
        title="The chosen moment, in the timeline"
        onClick={() => openInterval(props.originNs, place)}
      >
        Open moment
      </button>
      <button type="button" class="icon-button" aria-label="Forget the chosen moment" onClick={() => desk.onPick(null)}>
        <Icon shape="close" />
      </button>
    </span>
  );
}

export function openInterval(originNs: string, range: TimeRange): void {
  const start = BigInt(originNs) + BigInt(Math.floor(range.t0));
  navigate({
    tab: "timeline",
    slice: null,
    of: null,
    span: { start, fraction: 0, width: Math.max(range.t1 - range.t0, 1) },
  });
}

/** A desk whose zoom and choice go to the address. */
export function zoomed(
  patch: (view: Partial<TimeView>) => void,
  originNs: string,
  all: TimeRange,
): Pick<TimeDesk, "onZoom" | "onPick"> {
  return {
    onZoom: (range) => patch({ span: range && spanOf(range, originNs, all), last: null }),
    onPick: (t) => patch({ moment: t === null ? null : BigInt(originNs) + BigInt(Math.round(t)) }),
  };
}

/** Curves of one unit with their legend, whose values are those under the cursor, else the latest ones. */
export function TimeLines(props: {
  desk: TimeDesk;
  lines: readonly Line[];
  marks?: readonly Mark[];
  height: number;
  axis?: boolean;
  label: string;
  testId: string;
}): JSX.Element {
  const { desk, lines } = props;
  const draw = useCallback(
    (plot: Parameters<typeof drawLines>[0]) => drawLines(plot, lines, props.marks),
    [lines, props.marks],
  );
  return (
    <>
      <TimeCanvas
        desk={desk}
        height={props.height}
        axis={props.axis}
        label={props.label}
        testId={props.testId}
        draw={draw}
      />
      <Legend desk={desk} lines={lines} />
    </>
  );
}

function Legend({ desk, lines }: { desk: TimeDesk; lines: readonly Line[] }): JSX.Element {
  const at = desk.cursor.value ?? desk.moment;
  const drawn = drawsLimit(lines);
  return (
    <ul class="time-legend">
      {lines.map((line) => {
        const i = at === null ? lastKnown(line.value) : placeAt(line.t, at);
        const band =
          line.low && line.high && i >= 0 && line.low[i] !== line.high[i]
            ? ` (${valueText(line.low[i], line.unit)} to ${valueText(line.high[i], line.unit)})`
            : "";
        return (
          <li key={line.name}>
            <span class={`swatch${line.limit ? " dashed" : ""}`} style={{ "--series": line.color }} />
            <bdi>{line.name}</bdi>
            {line.limit && !drawn && <span class="faint">(above the axis)</span>}
            <b
              title={
                i < 0
                  ? "Not sampled there."
                  : `Mean of the samples that the point at ${duration(Math.round(line.t[i]))} stands for; in brackets the lowest and the highest of several.`
              }
            >
              {valueText(line.value[i], line.unit)}
              {band}
            </b>
          </li>
        );
      })}
    </ul>
  );
}

function lastKnown(values: readonly (number | null)[]): number {
  for (let i = values.length - 1; i >= 0; i -= 1) if (values[i] !== null) return i;
  return -1;
}

const isPhase = (name: string): name is Phase => name in PHASE_LABELS;
const phaseLabel = (name: string) => (isPhase(name) ? PHASE_LABELS[name] : name);

const stepText = (steps: StripAnswer, i: number) => {
  const [first, last] = [steps.first[i], steps.last[i]];
  if (first === null) return steps.count[i] === 1 ? steps.name[i] : plural(steps.count[i], "step");
  return first === last ? `Step ${first}` : `Steps ${first}–${last}`;
};

/** The place of the entry that holds a time; -1 between entries. */
const holding = (strip: StripAnswer, t: number) => {
  const i = placeAt(strip.start, t);
  return i >= 0 && strip.end[i] > t ? i : -1;
};

/** "step 104, forward"; empty outside steps. */
export function nameAt(strips: StripsAnswer | null, t: number): string {
  if (!strips) return "";
  const [step, phase] = [holding(strips.steps, t), holding(strips.phases, t)];
  const words = [
    step >= 0 && stepText(strips.steps, step),
    phase >= 0 &&
      (strips.phases.count[phase] === 1
        ? phaseLabel(strips.phases.name[phase])
        : `${strips.phases.count[phase]} phases, the longest ${phaseLabel(strips.phases.name[phase])}`),
  ];
  return words.filter(Boolean).join(", ");
}

/** Steps and phases, on the same axis as the curves below. */
export function Strips({ desk, strips }: { desk: TimeDesk; strips: StripsAnswer }): JSX.Element {
  const now = theme.value;
  const rows = useMemo<StripRow[]>(() => {
    const { steps, phases } = strips;
    const found: StripRow[] = [
      {
        label: "Steps",
        ...steps,
        color: () => kindColor(now, Kind.STEP),
        text: (i) => (steps.count[i] === 1 && steps.first[i] !== null ? String(steps.first[i]) : stepText(steps, i)),
      },
    ];
    if (phases.start.length > 0) {
      found.push({
        label: "Phases",
        ...phases,
        color: (i) => PHASE_COLORS[now][isPhase(phases.name[i]) ? phases.name[i] : "other"],
        text: (i) => (phases.count[i] === 1 ? phaseLabel(phases.name[i]) : ""),
      });
    }
    return found;
  }, [strips, now]);
  const draw = useCallback((plot: Parameters<typeof drawStrips>[0]) => drawStrips(plot, rows), [rows]);
  return (
    <>
      <TimeCanvas
        desk={desk}
        height={rows.length * (STRIP_HEIGHT + 2) + AXIS + 4}
        axis
        label="Steps and phases over time"
        testId="time-strips"
        draw={draw}
      />
      <div class="strips-foot">
        <Where desk={desk} strips={strips} />
        <PhaseLegend strips={strips} />
      </div>
    </>
  );
}

/** What the colours of the phases on show mean. */
function PhaseLegend({ strips }: { strips: StripsAnswer }): JSX.Element | null {
  const known = PHASES.filter((phase) => strips.phases.name.includes(phase));
  if (known.length === 0) return null;
  return (
    <ul class="inline-legend" aria-label="Phases">
      {known.map((phase) => (
        <li key={phase}>
          <span class="swatch" style={{ background: PHASE_COLORS[theme.value][phase] }} />
          {PHASE_LABELS[phase]}
        </li>
      ))}
    </ul>
  );
}

export function stripsData({ steps, phases }: StripsAnswer): CardData {
  const rows = (strip: StripAnswer, what: string, name: (i: number) => string) =>
    strip.start.map((start, i) => [what, name(i), start, strip.end[i] - start, strip.count[i]]);
  return {
    columns: [
      { label: "What", unit: "text" },
      { label: "Name", unit: "text", title: "Of several that are drawn as one, the longest." },
      { label: "Start", unit: "moment", title: "From the origin of the worker." },
      { label: "Duration", unit: "ns" },
      { label: "Count", unit: "count", title: "Neighbours narrower than a pixel are one rectangle." },
    ],
    rows: [
      ...rows(steps, "step", (i) => stepText(steps, i)),
      ...rows(phases, "phase", (i) => phaseLabel(phases.name[i])),
    ],
  };
}

function Where({ desk, strips }: { desk: TimeDesk; strips: StripsAnswer }): JSX.Element {
  const at = desk.cursor.value ?? desk.moment;
  const name = at === null ? "" : nameAt(strips, at);
  return (
    <p class="time-where" data-testid="time-where">
      {at === null ? (
        <span class="faint no-picture">
          Numbers are the latest: point at a chart for others, drag to zoom, click to choose a moment.
        </span>
      ) : (
        <>
          <b>{duration(Math.round(at))}</b> {name || <span class="faint">no step</span>}
        </>
      )}
    </p>
  );
}
