// The Step breakdown tab: stacked bars of all steps; below them the same steps, or those selected, in numbers; one step
// beside the usual one; the modules; and the table. No part asks for more steps than it shows.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { SummaryAnswer } from "../api";
import { niceCeiling } from "../charts/scale";
import type { BarView } from "../charts/step-bars";
import { getBars, type Chosen, type StatisticsAnswer } from "../dashboard/requests";
import type { Range } from "../dashboard/view";
import { summary } from "../data";
import { DEFINITIONS } from "../definitions";
import { count, digits, duration, exact, plural } from "../format";
import type { Area } from "../hash";
import { adjust, adjustDashboard, nav, navigateDashboard, theme } from "../state";
import { howToMark } from "../steps";
import { Card } from "../ui/card";
import { Cards } from "../ui/cards";
import { useFetched } from "../ui/fetched";
import { Absent, Await, Problem } from "../ui/states";
import { Toggle } from "../ui/toggle";
import { ModuleFlame } from "./module-flame";
import { Bars, barsData } from "./step-bars";
import { StepCompare } from "./step-compare";
import { defaultBy, nameOf, partsOf, type By, type Part } from "./step-parts";
import { RangeParts, RangeSpread } from "./step-range";
import { StepTable, usePages } from "./step-table";
import { useStatistics } from "./use-statistics";

const BAR_PIXELS = 3; // at least
const AROUND_BARS = 130; // pixels of the window that are no bars
let lastWidth: number | null = null; // of the bars: with it the first request need not be repeated

const FAR = 4; // times the 95th percentile: where the axis is cut

export function StepsTab(): JSX.Element {
  return (
    <div class="page">
      <Await of={summary.now.value} what="the steps">
        {(answer) =>
          (answer.coverage?.steps ?? 0) > 0 ? (
            <Breakdown answer={answer} />
          ) : (
            <Problem
              title="No steps were seen"
              detail={howToMark(answer.worker.framework, answer.worker.inference !== null)}
              quiet
            />
          )
        }
      </Await>
    </div>
  );
}

/** The interval that was marked in the timeline, relative to the origin. */
function meeting(area: Area | null, origin: string): { t0: number | null; t1: number | null } {
  if (!area) return { t0: null, t1: null };
  const t0 = Number(area.start - BigInt(origin));
  return { t0: Math.floor(t0), t1: Math.ceil(t0 + area.width) };
}

function Breakdown({ answer }: { answer: SummaryAnswer }): JSX.Element {
  const all = answer.coverage?.steps ?? 0;
  const deep = answer.coverage?.deep_steps ?? 0;
  const phased = answer.coverage?.phased_steps ?? 0;
  const { dashboard, among } = nav.value;
  const by: By = nav.value.by ?? defaultBy(deep, phased);
  const within = by === "activity" ? deep : phased;
  const partial = within > 0 && within < all;
  const only = partial && (nav.value.steps ?? (by === "activity" ? "deep" : "all")) === "deep";
  const share = nav.value.scale === "share";
  const timedOnDevice = answer.worker.device_phases !== null;
  const host = by === "phase" ? !(dashboard.device && timedOnDevice) : dashboard.host;
  const marked = among ? nav.value.area : null;
  const base: Chosen = {
    only: only ? by : "all",
    first: null,
    last: null,
    ...meeting(marked, answer.origin_ns),
  };
  const { range } = dashboard;
  const chosen: Chosen = range ? { ...base, ...range } : base;

  const [view, setView] = useState<BarView | null>(null); // null: all
  const [width, setWidth] = useState(() => lastWidth ?? window.innerWidth - AROUND_BARS);
  const [uncut, setUncut] = useState(false);
  const asked = askedView(view);
  const query = { by, host, share, ...asked, bars: Math.ceil((width / BAR_PIXELS) * (view ? 2 : 1)) };
  const bars = useFetched(`bars ${JSON.stringify([base, query])}`, (key, signal) => getBars(key, base, query, signal));
  const found = useStatistics(chosen, { by, host });
  const paged = usePages(chosen);
  const possible = useMemo(() => partsOf(by, theme.value), [by, theme.value]);
  const parts = useMemo(() => usedParts(possible, found.value), [possible, found.value]);
  const drawn = bars.value;
  const cut =
    drawn && !share && drawn.count >= 20 && (drawn.longest_ns ?? 0) >= FAR * (drawn.p95_ns ?? Infinity)
      ? niceCeiling(2 * (drawn.p95_ns ?? 1))
      : null;
  const barParts = drawn ? possible.filter(({ key }) => drawn.parts[key]?.some((value) => value > 0)) : [];
  const choose = (step: number | null) => {
    // Back closes what was opened; from one step to the next it need not stop.
    const isOther = (step === null) !== (nav.peek().dashboard.step === null);
    (isOther ? navigateDashboard : adjustDashboard)({ step });
  };
  const select = (wanted: Range | null) => adjustDashboard({ range: wanted });
  const statistics = found.value;
  return (
    <>
      <div class="toolbar wrap">
        <Controls
          by={by}
          share={share}
          all={all}
          deep={deep}
          phased={phased}
          only={only}
          partial={partial}
          host={host}
          timedOnDevice={timedOnDevice}
          hasDevice={timedOnDevice || (answer.worker.timeline_ns?.total ?? null) !== null}
        />
        {marked && drawn && (
          <button
            type="button"
            class="text-button"
            aria-pressed="true"
            title="Show all steps again"
            data-testid="among-marked"
            onClick={() => adjust({ among: false })}
          >
            {plural(drawn.count, "step")} in the marked interval ✕
          </button>
        )}
        {cut !== null && (
          <button type="button" class="text-button cut" onClick={() => setUncut(!uncut)}>
            {uncut
              ? "Cut the longest steps off"
              : `The longest takes ${duration(drawn?.longest_ns)}, above the axis: show`}
          </button>
        )}
      </div>
      <Await of={bars} what="the steps">
        {(value) =>
          value.count === 0 ? (
            <Absent>No step is in the marked interval.</Absent>
          ) : (
            <Card
              title="Time of each step"
              definition={host ? DEFINITIONS.stepHost : DEFINITIONS.stepDuration}
              actions={<Legend parts={barParts} grey={!only && partial} />}
              data={() => barsData(value, barParts, share)}
              testId="step-bars-card"
            >
              <Bars
                bars={value}
                parts={barParts}
                share={share}
                top={uncut ? null : cut}
                view={view ?? { from: 0, to: value.count }}
                range={range}
                step={dashboard.step}
                onView={setView}
                onRange={select}
                onStep={choose}
                onWidth={(pixels) => pixels > 1 && setWidth((lastWidth = pixels))} // 1: it is taken away
              />
            </Card>
          )
        }
      </Await>
      <Selection
        found={statistics}
        range={range}
        zoomed={view !== null}
        onStep={choose}
        onClear={() => select(null)}
        onAll={() => setView(null)}
      />
      {dashboard.step !== null && dashboard.step < all && (
        <StepCompare step={dashboard.step} count={all} onStep={choose} />
      )}
      <Await of={found} what="the statistics">
        {(value) => (
          <Cards>
            <RangeParts found={value} isRange={range !== null} by={by} parts={parts} />
            <RangeSpread found={value} isRange={range !== null} onStep={choose} />
          </Cards>
        )}
      </Await>
      {deep > 0 && <ModuleFlame chosen={range || marked ? chosen : null} />}
      {statistics && (
        <section class="card flush" aria-label="Steps">
          <div class="card-head">
            <h3>{range ? "Selected steps" : "Steps"}</h3>
            <span class="card-note">
              {plural(statistics.steps, "step")}
              {", times in ms"}
              {statistics.steps > 1 && ". Click one to compare it with the usual one."}
            </span>
          </div>
          <StepTable paged={paged} total={statistics.steps} by={by} parts={parts} onOpen={choose} />
        </section>
      )}
    </>
  );
}

/** What to fetch for a view: more on both sides, in steps of half its width, so that panning asks rarely. */
function askedView(view: BarView | null): { begin: number; end: number | null } {
  if (!view) return { begin: 0, end: null };
  const half = Math.max(1, Math.round((view.to - view.from) / 2));
  return {
    begin: Math.max(0, Math.floor(view.from / half - 1) * half),
    end: Math.ceil(view.to / half + 1) * half,
  };
}

/** The parts that any of the steps has. */
function usedParts(possible: readonly Part[], found: StatisticsAnswer | null): Part[] {
  return possible.filter(({ key }) => (found?.parts[key]?.total_ns ?? 0) > 0);
}

function Controls(props: {
  by: By;
  share: boolean;
  host: boolean;
  timedOnDevice: boolean; // phases
  hasDevice: boolean; // else a step ends where its marker does
  all: number;
  deep: number;
  phased: number;
  only: boolean;
  partial: boolean;
}): JSX.Element {
  const { by, all, deep, phased, only } = props;
  const within = by === "activity" ? deep : phased;
  return (
    <>
      <Toggle
        label="Divide by"
        value={by}
        choices={[
          {
            value: "activity",
            label: "Activity",
            title: DEFINITIONS.activity,
            off: deep === 0 && "No step was captured in depth",
          },
          {
            value: "phase",
            label: "Phase",
            title: DEFINITIONS.phases,
            off: phased === 0 && "Phases were not recorded",
          },
        ]}
        onChoose={(value) => adjust({ by: value as By })}
      />
      <Toggle
        label="Scale"
        value={props.share ? "share" : "absolute"}
        choices={[
          { value: "absolute", label: "Time", title: "Height is time" },
          { value: "share", label: "Share", title: "Height is the share of the step" },
        ]}
        onChoose={(value) => adjust({ scale: value as "absolute" | "share" })}
      />
      {props.hasDevice && (
        <Toggle
          label={by === "phase" ? "Phases of" : "A step ends with"}
          value={props.host ? "host" : "device"}
          choices={[
            {
              value: "device",
              label: by === "phase" ? "Device" : "Device end",
              title: by === "phase" ? DEFINITIONS.devicePhases : DEFINITIONS.stepDuration,
              off: by === "phase" && !props.timedOnDevice && "Phases were timed on the host only",
            },
            { value: "host", label: by === "phase" ? "Host" : "Host end", title: DEFINITIONS.stepHost },
          ]}
          onChoose={(value) =>
            adjustDashboard(by === "phase" ? { device: value === "device" } : { host: value === "host" })
          }
        />
      )}
      {props.partial && (
        <Toggle
          label="Steps"
          value={only ? "deep" : "all"}
          choices={[
            { value: "all", label: `All ${count(all)}`, title: "Steps without this division stand as grey bars" },
            {
              value: "deep",
              label: by === "activity" ? `In depth ${count(within)}` : `With phases ${count(within)}`,
            },
          ]}
          onChoose={(value) => adjust({ steps: value as "all" | "deep" })}
        />
      )}
    </>
  );
}

/** What is selected, and which of it is the slowest step and why. */
function Selection(props: {
  found: StatisticsAnswer | null;
  range: Range | null;
  zoomed: boolean;
  onStep: (step: number) => void;
  onClear: () => void;
  onAll: () => void;
}): JSX.Element {
  const { found, range } = props;
  return (
    <p class="slowest" data-testid="slowest">
      {range && (
        <button
          type="button"
          class="chip on"
          data-testid="step-range"
          title="Count all steps again"
          onClick={props.onClear}
        >
          {found ? plural(found.steps, "step") : "Steps"} selected ✕
        </button>
      )}
      {props.zoomed && (
        <button type="button" class="chip" onClick={props.onAll}>
          Zoom out to all
        </button>
      )}
      {found && <Slowest found={found} onStep={props.onStep} />}{" "}
      {!range && !props.zoomed && (found?.steps ?? 0) > 1 && (
        <span class="hint">Drag selects steps, a click opens one, Ctrl + wheel zooms.</span>
      )}
    </p>
  );
}

function Slowest({ found, onStep }: { found: StatisticsAnswer; onStep: (step: number) => void }): JSX.Element | null {
  const { slowest: step } = found;
  if (!step || step.ns <= step.median_ns) return null;
  const label =
    step.part &&
    [...partsOf("activity", "light"), ...partsOf("phase", "light")].find(({ key }) => key === step.part?.name)?.label;
  return (
    <span>
      <span title={exact(step.median_ns)}>Median {duration(step.median_ns)}.</span> The slowest is{" "}
      <button type="button" class="text-link" title="Compare it with the usual step" onClick={() => onStep(step.index)}>
        step {nameOf(step.id, step.label, step.index)}
      </button>{" "}
      with <span title={exact(step.ns)}>{duration(step.ns)}</span>, {digits(step.ns / step.median_ns)} × the median
      {step.part && (
        <span title={`${label}: ${exact(step.part.more_ns)} above its median`}>
          : {label} takes {duration(step.part.more_ns)} more than usual
        </span>
      )}
      .
    </span>
  );
}

function Legend({ parts, grey }: { parts: readonly Part[]; grey: boolean }): JSX.Element {
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
