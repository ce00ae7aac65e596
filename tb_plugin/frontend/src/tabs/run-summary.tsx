// The Summary tab of a run as a whole: how even its workers are, who is slow, and why.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { bandOption } from "../charts/run-band";
import { Chart } from "../charts/echarts";
import { DEFINITIONS, NOT_MEASURED } from "../definitions";
import { count, DASH, digits, duration, exact, percent, plural } from "../format";
import { bySlowness, measureLabel, rankName, type RunSteps, type RunSummary } from "../run";
import { useRunSteps, useRunSummary } from "../run-data";
import { openWorker, theme } from "../state";
import { Card, type CardData } from "../ui/card";
import { Cards } from "../ui/cards";
import { Absent, Await } from "../ui/states";
import { Findings } from "./findings";
import { everyone, mapNumbers, RunMap } from "./run-map";
import { RunCollectives } from "./run-collectives";
import { RunDevices } from "./run-devices";
import { RankTable } from "./run-table";
import { toldRules, Verdict } from "./run-verdict";

const MOST_NAMED = 8;
const MAP_COLUMNS = 120;
const MAP_ROOM = 230; // pixels
const MOST_MAPPED = 64; // workers; of more only the slowest are in the map here
const MAPPED = 18;

export function RunSummaryTab(): JSX.Element {
  const summary = useRunSummary();
  const steps = useRunSteps("duration", 240);
  return (
    <div class="page" data-testid="run-summary">
      <Await of={summary} what="the workers" first="Summing up the workers for the first time">
        {(run) => (
          <>
            <Verdict run={run} />
            <Tiles run={run} />
            <Findings findings={run.findings} but={toldRules(run)} at={null} originNs="0" />
            <Cards>
              <StepTimeBand of={steps} run={run} />
              <Slowest run={run} />
              <ComparedMap run={run} />
            </Cards>
            <RunDevices run={run} />
            <RunCollectives run={run} />
            <RankTable run={run} onOpen={(rank) => openWorker(run.run, run.ranks.worker[rank])} />
            <Quality run={run} />
          </>
        )}
      </Await>
    </div>
  );
}

function Tiles({ run }: { run: RunSummary }): JSX.Element {
  const { step_time_ns: time, across_workers: across, ranks, coverage } = run;
  const spread = across?.imbalance;
  const busy = ranks.gpu_busy.filter((value): value is number => value !== null);
  const devices = Object.entries(run.devices).map(([name, n]) => `${n} × ${name}`);
  const timed = (what: string, ns: number | undefined) =>
    ns === undefined
      ? NOT_MEASURED
      : `${what}\nExactly ${exact(ns)}, over ${plural(time?.count ?? 0, "complete step")} of all workers.`;
  return (
    <div class="tiles">
      <Tile
        label="Workers"
        value={count(ranks.worker.length)}
        raw={ranks.worker.length}
        testId="run-workers"
        note={[run.live ? `${run.live} live` : "", run.hosts ? `on ${plural(run.hosts, "host")}` : ""]
          .filter(Boolean)
          .join(", ")}
        hint={devices.join(", ") || "No device was told."}
      />
      <Tile
        label="Step time, median"
        value={duration(time?.p50)}
        raw={time?.p50}
        testId="run-p50"
        note={`of ${plural(time?.count ?? 0, "step")}`}
        hint={timed(DEFINITIONS.stepP50, time?.p50)}
      />
      <Tile
        label="Step time, p99"
        value={duration(time?.p99)}
        raw={time?.p99}
        testId="run-p99"
        note={time && time.p50 > 0 ? `${digits(time.p99 / time.p50)} × the median` : ""}
        hint={timed("99th percentile of the step durations of all workers.", time?.p99)}
      />
      <Tile
        label="Lost to imbalance"
        value={spread?.ratio == null ? DASH : percent(spread.ratio)}
        raw={spread?.ratio}
        testId="run-imbalance"
        note={spread?.excess_ns == null ? "" : `${duration(spread.excess_ns)} a step`}
        hint={DEFINITIONS.imbalance}
      />
      {busy.length > 0 && (
        <Tile
          label="GPU busy"
          value={`${percent(Math.min(...busy))}`}
          raw={Math.min(...busy)}
          testId="run-gpu"
          note={`least; the most ${percent(Math.max(...busy))}`}
          hint={DEFINITIONS.gpuBusy}
        />
      )}
      <Tile
        label="Captured in depth"
        value={count(coverage.deep_steps)}
        raw={coverage.deep_steps}
        testId="run-deep"
        note={`of ${plural(coverage.steps, "step")}, all workers`}
        hint="Steps in deep windows, summed over all workers."
      />
    </div>
  );
}

function Tile(props: {
  label: string;
  value: string;
  hint: string;
  note: string;
  testId: string;
  raw?: number | null;
}): JSX.Element {
  return (
    <div class="tile" title={props.hint}>
      <div class="tile-label">{props.label}</div>
      <div
        class={`tile-value${props.value === DASH ? " none" : ""}`}
        data-testid={props.testId}
        data-value={props.raw ?? undefined}
      >
        {props.value}
      </div>
      <div class="tile-note">{props.note || " "}</div>
    </div>
  );
}

function StepTimeBand({ of, run }: { of: ReturnType<typeof useRunSteps>; run: RunSummary }): JSX.Element {
  return (
    <Card
      title="Step time of all workers"
      definition={DEFINITIONS.band}
      data={of.value ? () => bandNumbers(of.value as RunSteps, run) : undefined}
    >
      <Await of={of} what="the steps">
        {(steps) => <Band steps={steps} run={run} height={230} />}
      </Await>
    </Card>
  );
}

export function Band({ steps, run, height }: { steps: RunSteps; run: RunSummary; height: number }): JSX.Element {
  const now = theme.value;
  const option = useMemo(() => bandOption(steps, run.ranks, now), [steps, run, now]);
  if (steps.count === 0) return <Absent>No steps were seen.</Absent>;
  return (
    <>
      <Chart
        option={option}
        label={`${measureLabel(steps.of)} over ${plural(steps.count, "step")}, mean, least and most of all workers`}
        height={height}
        testId="run-band"
      />
      <p class="chart-note">
        Line: mean of all workers. Band: from the fastest to the slowest.
        {steps.count < steps.of_steps && ` Measured in ${count(steps.count)} of ${plural(steps.of_steps, "step")}.`}
        {steps.first.length < steps.count &&
          ` Each point stands for ${plural(Math.ceil(steps.count / steps.first.length), "step")}.`}
      </p>
    </>
  );
}

export function bandNumbers(steps: RunSteps, run: RunSummary): CardData {
  return {
    columns: [
      { label: "First step", unit: "id" },
      { label: "Last step", unit: "id" },
      { label: "Mean", unit: "ns" },
      { label: "Least", unit: "ns" },
      { label: "Most", unit: "ns" },
      { label: "Slowest", unit: "text" },
    ],
    rows: steps.first_id.map((first, i) => {
      const slowest = steps.slowest[i];
      return [
        first,
        steps.last_id[i],
        steps.mean[i],
        steps.min[i],
        steps.max[i],
        slowest === null ? null : rankName(run.ranks, slowest),
      ];
    }),
  };
}

/** The measure that workers are compared by, over ranks and steps. */
function ComparedMap({ run }: { run: RunSummary }): JSX.Element {
  const found = useRunSteps(run.compared_by, MAP_COLUMNS);
  const { value } = found;
  const all = everyone(run);
  const rows = useMemo(() => (all.length > MOST_MAPPED ? bySlowness(run).slice(0, MAPPED) : all), [run]);
  return (
    <Card
      title="Ranks and steps"
      definition={DEFINITIONS.rankMap}
      basis={`${measureLabel(run.compared_by)}${all.length > MOST_MAPPED ? `; the ${rows.length} slowest of ${all.length} workers` : ""}`}
      data={value ? () => mapNumbers(value, run) : undefined}
    >
      <Await of={found} what="the steps">
        {(steps) => (
          <RunMap
            steps={steps}
            ranks={run.ranks}
            rows={rows}
            scale="share"
            room={MAP_ROOM}
            onOpen={(rank) => openWorker(run.run, run.ranks.worker[rank])}
          />
        )}
      </Await>
    </Card>
  );
}

/** How often each worker is the slowest. */
function Slowest({ run }: { run: RunSummary }): JSX.Element {
  const { ranks } = run;
  const order = ranks.worker.map((_, i) => i).filter((i) => ranks.slowest[i] > 0);
  order.sort((a, b) => ranks.slowest[b] - ranks.slowest[a] || a - b);
  const shown = order.slice(0, MOST_NAMED);
  const total = order.reduce((sum, i) => sum + ranks.slowest[i], 0);
  const rest = total - shown.reduce((sum, i) => sum + ranks.slowest[i], 0);
  const most = ranks.slowest[shown[0]] ?? 0;
  const fair = total / Math.max(1, ranks.worker.length);
  const of = total === 0 ? "" : `, of ${plural(total, "step")}`;
  return (
    <Card
      title="Who is the slowest"
      definition={DEFINITIONS.rankSlowest}
      basis={`Steps in which a worker took the most time${of}${fair < 0.5 ? "" : `; ${Number.isInteger(fair) ? count(fair) : digits(fair)} each if all were equal`}`}
      data={() => ({
        columns: [
          { label: "Worker", unit: "text" },
          { label: "Steps", unit: "count" },
          { label: "Share", unit: "ratio" },
        ],
        rows: order.map((i) => [rankName(ranks, i), ranks.slowest[i], ranks.slowest[i] / total]),
      })}
    >
      {total === 0 && <Absent>No step was measured by two workers, or they are equally fast in all of them.</Absent>}
      <ul class="slowest-bars" data-testid="slowest-bars">
        {shown.map((i) => (
          <li key={ranks.worker[i]}>
            <button
              type="button"
              title={`Open ${rankName(ranks, i)}`}
              onClick={() => openWorker(run.run, ranks.worker[i])}
            >
              <span class="bar-name">
                <bdi>{rankName(ranks, i)}</bdi>
              </span>
              <span class="bar-track">
                <span class="bar-fill" style={{ width: `${(100 * ranks.slowest[i]) / most}%` }} />
              </span>
              <span class="bar-value">
                {count(ranks.slowest[i])} <span class="faint">{percent(ranks.slowest[i] / total)}</span>
              </span>
            </button>
          </li>
        ))}
      </ul>
      {rest > 0 && (
        <p class="chart-note">
          {plural(order.length - shown.length, "other worker")}: {plural(rest, "step")} together.
        </p>
      )}
    </Card>
  );
}

function Quality({ run }: { run: RunSummary }): JSX.Element {
  return (
    <section class="card">
      <h2 title="What was dropped, repaired, guessed or missing while the data was read.">Data quality</h2>
      {run.quality.length === 0 && run.problems.length === 0 ? (
        <p class="all-good">Nothing was dropped, repaired or guessed in any worker.</p>
      ) : (
        <ul class="notes" data-testid="run-quality">
          {run.quality.map((note) => (
            <li key={note.code}>
              <b title={note.code}>{note.code.replaceAll("_", " ")}</b>
              <span class="note-count">{plural(note.workers, "worker")}</span>
              <span>{note.detail}</span>
            </li>
          ))}
          {run.problems.map((problem) => (
            <li key={problem}>
              <b>cannot be read</b>
              <span>{problem}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
