// The Step breakdown tab: one stacked bar a step, by activity or by phase, and the same as a table.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { cutOf } from "../charts/scale";
import type { BarData } from "../charts/step-bars";
import { steps } from "../data";
import { DEFINITIONS } from "../definitions";
import { count, duration, exact, plural } from "../format";
import type { Area } from "../hash";
import { ACTIVITY_COLORS, PHASE_COLORS } from "../palette";
import { adjust, nav, theme } from "../state";
import { measured, stepName, type Steps } from "../steps";
import { Absent, Await } from "../ui/states";
import { Toggle } from "../ui/toggle";
import { CutNote } from "./cut-note";
import { Bars } from "./step-bars";
import { openStep } from "./open-step";
import { defaultBy, partsOf, slowest, type By, type Part } from "./step-parts";
import { StepTable } from "./step-table";

export function StepsTab(): JSX.Element {
  return (
    <div class="page fill">
      <Await of={steps.now.value} what="the steps">
        {(all) => <Breakdown all={all} />}
      </Await>
    </div>
  );
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
  const marked = nav.value.among ? nav.value.area : null;
  const rows = useMemo(() => {
    const candidates = only ? within : all.id.map((_, i) => i);
    return marked ? candidates.filter((row) => meets(all, row, marked)) : candidates;
  }, [all, only, within, marked]);
  const data = useMemo<BarData>(
    () => ({
      rows,
      name: (row: number) => stepName(all, row),
      number: (row: number) => all.id[row],
      parts,
      whole: by === "phase" ? all.host.map((ns, i) => ns ?? all.duration[i]) : all.duration,
      share,
    }),
    [all, parts, rows, share, by],
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
            {
              value: "activity",
              label: "Activity",
              title: DEFINITIONS.activity,
              off: deep.length === 0 && "No step was captured in depth",
            },
            {
              value: "phase",
              label: "Phase",
              title: DEFINITIONS.phases,
              off: phased.length === 0 && "Phases were not recorded",
            },
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
              {
                value: "all",
                label: `All ${count(all.count)}`,
                title: "Steps without this division stand as grey bars",
              },
              {
                value: "deep",
                label: by === "activity" ? `In depth ${count(within.length)}` : `With phases ${count(within.length)}`,
              },
            ]}
            onChoose={(value) => adjust({ steps: value as "all" | "deep" })}
          />
        )}
        {marked && (
          <button
            type="button"
            class="text-button"
            aria-pressed="true"
            title="Show all steps again"
            data-testid="among-marked"
            onClick={() => adjust({ among: false })}
          >
            {plural(rows.length, "step")} in the marked interval ✕
          </button>
        )}
        {cut && !share && <CutNote cut={cut} open={uncut} onToggle={() => setUncut(!uncut)} />}
        <span class="spacer" />
        <Legend parts={parts} grey={!only && partial} />
      </div>
      <SlowestStep all={all} data={data} parts={parts} />
      <Bars all={all} data={data} parts={parts} by={by} cut={share || uncut ? null : cut} />
      <StepTable all={all} rows={data.rows} parts={parts} />
    </>
  );
}

/** Whether a step has time in common with an interval. */
function meets(all: Steps, row: number, area: Area): boolean {
  const start = Number(area.start - BigInt(all.origin));
  return all.start[row] < start + area.width && all.start[row] + all.duration[row] > start;
}

/** Which step is the slowest, and what it spends its time on that the others do not. */
function SlowestStep({ all, data, parts }: { all: Steps; data: BarData; parts: Part[] }): JSX.Element | null {
  const found = useMemo(() => slowest(data.rows, all.complete, data.whole, parts), [all, data, parts]);
  if (!found || found.ns <= found.median) return null;
  const { row, ns, median, part } = found;
  return (
    <p class="slowest" data-testid="slowest">
      <span title={exact(median)}>Median {duration(median)}.</span> The slowest is{" "}
      <button type="button" title="Open in the timeline" onClick={() => openStep(all.origin, all, row)}>
        step {stepName(all, row)}
      </button>{" "}
      with <span title={exact(ns)}>{duration(ns)}</span>, {(ns / median).toFixed(2)} × the median
      {part && (
        <span title={`${part.label}: ${exact(part.more)} above its median`}>
          : {part.label} takes {duration(part.more)} more than usual
        </span>
      )}
      .
    </p>
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
