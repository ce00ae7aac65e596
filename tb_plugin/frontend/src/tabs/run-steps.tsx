// The Step breakdown of a run as a whole: any measure over ranks and steps, and what all workers' steps are made of.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Chart } from "../charts/echarts";
import { partsOption } from "../charts/run-parts";
import { DEFINITIONS } from "../definitions";
import { measureLabel, partLabel, type Family, type RunSteps, type RunSummary } from "../run";
import { useRunSteps, useRunSummary } from "../run-data";
import { adjust, nav, openWorker, theme } from "../state";
import { Card } from "../ui/card";
import { Absent, Await } from "../ui/states";
import { Toggle } from "../ui/toggle";
import { everyone, mapNumbers, RunMap } from "./run-map";
import { Band, bandNumbers } from "./run-summary";

const COLUMNS = 240;
const ROOM = 460; // pixels for the rows of the map

export function RunStepsTab(): JSX.Element {
  const summary = useRunSummary();
  return (
    <div class="page" data-testid="run-steps">
      <Await of={summary} what="the workers" first="Summing up the workers for the first time">
        {(run) => <Breakdown run={run} />}
      </Await>
    </div>
  );
}

function Breakdown({ run }: { run: RunSummary }): JSX.Element {
  const wanted = nav.value.measure;
  const measure = wanted !== null && run.measures.includes(wanted) ? wanted : run.compared_by;
  const found = useRunSteps(measure, COLUMNS);
  const scale = nav.value.scale;
  const open = (rank: number) => openWorker(run.run, run.ranks.worker[rank]);
  return (
    <>
      <div class="toolbar">
        <label class="field">
          Compare by
          <select
            class="plain-select"
            data-testid="measure"
            value={measure}
            onChange={(event) => adjust({ measure: event.currentTarget.value })}
          >
            {options(run.measures)}
          </select>
        </label>
        <Toggle
          label="Colour"
          value={scale}
          choices={[
            { value: "absolute", label: "Time", title: "Colour is the time itself" },
            {
              value: "share",
              label: "Against the median",
              title: "Colour is the difference to the median worker in the same step",
            },
          ]}
          onChoose={(value) => adjust({ scale: value as "absolute" | "share" })}
        />
      </div>
      <Await of={found} what="the steps">
        {(steps) =>
          steps.count === 0 ? (
            <Absent>No steps were seen.</Absent>
          ) : (
            <>
              <Card
                title={`${measureLabel(steps.of)}, all workers`}
                definition={DEFINITIONS.band}
                data={() => bandNumbers(steps, run)}
              >
                <Band steps={steps} run={run} height={190} />
              </Card>
              <Card
                title="Ranks and steps"
                definition={DEFINITIONS.rankMap}
                basis={basis(steps)}
                data={() => mapNumbers(steps, run)}
              >
                <RunMap steps={steps} ranks={run.ranks} rows={everyone(run)} scale={scale} room={ROOM} onOpen={open} />
              </Card>
              <Parts steps={steps} family="activity" />
              <Parts steps={steps} family="phase" />
            </>
          )
        }
      </Await>
    </>
  );
}

function options(measures: readonly string[]): JSX.Element[] {
  const of = (start: string) =>
    measures
      .filter((m) => m.startsWith(start))
      .map((m) => (
        <option key={m} value={m}>
          {measureLabel(m)}
        </option>
      ));
  const whole = measures.filter((m) => !m.includes("."));
  return [
    ...whole.map((m) => (
      <option key={m} value={m}>
        {measureLabel(m)}
      </option>
    )),
    <optgroup key="phase" label="Phase">
      {of("phase.")}
    </optgroup>,
    <optgroup key="activity" label="Activity (steps in depth)">
      {of("activity.")}
    </optgroup>,
  ];
}

function basis(steps: RunSteps): string {
  const each = Math.ceil(steps.count / Math.max(1, steps.first.length));
  const what = each > 1 ? `Each cell is the mean of ${each} steps. ` : "";
  return steps.aligned_by === "id"
    ? `${what}Down: ranks. Across: step numbers.`
    : `${what}Down: ranks. Across: steps by their position, since some have no number.`;
}

/** What the mean step of all workers is made of. */
function Parts({ steps, family }: { steps: RunSteps; family: Family }): JSX.Element | null {
  const now = theme.value;
  const option = useMemo(() => partsOption(steps, family, now), [steps, family, now]);
  const parts = Object.entries(steps[family]);
  if (!parts.some(([, values]) => values.some((value) => value !== null))) return null;
  return (
    <Card
      title={family === "activity" ? "Activity, mean of all workers" : "Phases, mean of all workers"}
      definition={family === "activity" ? DEFINITIONS.activity : DEFINITIONS.phases}
      data={() => ({
        columns: [
          { label: "First step", unit: "id" as const },
          { label: "Last step", unit: "id" as const },
          ...parts.map(([part]) => ({ label: partLabel(family, part), unit: "ns" as const })),
        ],
        rows: steps.first_id.map((first, i) => [first, steps.last_id[i], ...parts.map(([, values]) => values[i])]),
      })}
    >
      <Chart
        option={option}
        label={`Mean parts of the steps of all workers, by ${family}`}
        height={220}
        testId={`run-${family}`}
      />
    </Card>
  );
}
