// The Summary tab: what the worker is, how long its steps take, where the time goes, and what the data lacks.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { GpuSummary, Series, SummaryAnswer, WorkerSummary } from "../api";
import { Chart } from "../charts/echarts";
import { utilisationOption, utilisationSeries } from "../charts/resources";
import { nearestStep, stepAxis, stepTimeOption } from "../charts/step-time";
import { cutOf } from "../charts/scale";
import { resources, steps, summary } from "../data";
import { DEFINITIONS, NOT_MEASURED } from "../definitions";
import { count, DASH, duration, exact, percent, plural } from "../format";
import { ACTIVITIES, ACTIVITY_LABELS, PHASE_LABELS, PHASES, type Activity } from "../kinds";
import { ACTIVITY_COLORS, PHASE_COLORS } from "../palette";
import { theme } from "../state";
import { stepName, totals, type Steps } from "../steps";
import { StackedBar } from "../ui/bar";
import { Absent, Await } from "../ui/states";
import { Facts } from "./facts";
import { openStep } from "./open-step";
import { CutNote } from "./cut-note";
import { Copies, HotSpots, Launching } from "./hotspots";
import { Notes } from "./notes";

export function SummaryTab(): JSX.Element {
  return (
    <div class="page">
      <Await of={summary.now.value} what="the summary">
        {(answer) => (
          <>
            <Facts answer={answer} steps={steps.now.value.value} resources={resources.now.value.value} />
            <Tiles answer={answer} steps={steps.now.value.value} />
            <div class="columns">
              <TimeGoes worker={answer.worker} />
              <StepTime />
              <Utilisation />
            </div>
            <HotSpots worker={answer.worker} />
            <DeviceTraffic worker={answer.worker} />
            <Notes worker={answer.worker} findings={answer.findings ?? []} refused={answer.refused} />
          </>
        )}
      </Await>
    </div>
  );
}

interface TileProps {
  label: string;
  value: string;
  hint: string;
  note?: string;
  testId: string;
  raw?: number | null; // the exact value, for who reads the page by program
}

function Tile({ label, value, hint, note, testId, raw }: TileProps): JSX.Element {
  return (
    <div class="tile" title={hint}>
      <div class="tile-label">{label}</div>
      <div class={`tile-value${value === DASH ? " none" : ""}`} data-testid={testId} data-value={raw ?? undefined}>
        {value}
      </div>
      <div class="tile-note">{note ?? " "}</div>
    </div>
  );
}

function Tiles({ answer, steps: all }: { answer: SummaryAnswer; steps: Steps | null }): JSX.Element {
  const { worker, step_time_ns: time } = answer;
  const phases = all && totals(all.phase, PHASES, all.count);
  const waiting = phases?.shares.find((share) => share.key === "input_wait");
  const waitRatio = phases && phases.steps > 0 ? (waiting?.ratio ?? 0) : null;
  const n = time?.count ?? worker.step_count ?? null;
  const stepHint = (text: string, ns: number | null | undefined) =>
    ns == null ? NOT_MEASURED : `${text}\nExactly ${exact(ns)}, over ${plural(n ?? 0, "step")}.`;
  return (
    <div class="tiles">
      <Tile
        label="Step time, median"
        value={duration(time?.p50)}
        raw={time?.p50}
        note={n === null ? undefined : `of ${plural(n, "step")}`}
        hint={stepHint(DEFINITIONS.stepP50, time?.p50)}
        testId="step-p50"
      />
      <Tile
        label="Step time, p95"
        value={duration(time?.p95)}
        raw={time?.p95}
        note={time && time.p50 > 0 ? `${(time.p95 / time.p50).toFixed(2)} × the median` : undefined}
        hint={stepHint(DEFINITIONS.stepP95, time?.p95)}
        testId="step-p95"
      />
      <Tile label="Steps" value={count(n)} raw={n} note={stepRange(all)} hint={DEFINITIONS.stepCount} testId="step-count" />
      <GpuTiles gpus={worker.gpu ?? []} />
      <Tile
        label="Input wait"
        value={percent(waitRatio)}
        raw={waitRatio}
        note={waitRatio === null ? "phases were not recorded" : `${duration((waiting?.ns ?? 0) / phases!.steps)} a step`}
        hint={waitRatio === null ? `${NOT_MEASURED}: the hook or the callback records phases.` : DEFINITIONS.inputWait}
        testId="input-wait"
      />
    </div>
  );
}

/** One tile a GPU; of many GPUs their mean and range. */
function GpuTiles({ gpus }: { gpus: readonly GpuSummary[] }): JSX.Element | null {
  const told = gpus.filter((gpu): gpu is GpuSummary & { utilization_steps: number } => gpu.utilization_steps !== null);
  if (gpus.length === 0) return null;
  if (told.length === 0) {
    const hint = `${NOT_MEASURED}: it is measured against the steps, and none were seen.`;
    return <Tile label="GPU busy" value={DASH} note="no steps to measure against" hint={hint} testId="gpu-util" />;
  }
  if (told.length > 3) {
    const values = told.map((gpu) => gpu.utilization_steps).sort((a, b) => a - b);
    const mean = values.reduce((a, b) => a + b, 0) / values.length;
    const hint = [DEFINITIONS.gpuBusy, ...told.map((gpu) => `GPU ${gpu.device}: ${percent(gpu.utilization_steps)}`)].join("\n");
    const note = `${percent(values[0])} to ${percent(values.at(-1))}`;
    return <Tile label={`${told.length} GPUs busy, mean`} value={percent(mean)} raw={mean} note={note} hint={hint} testId="gpu-util" />;
  }
  return (
    <>
      {told.map((gpu) => (
        <Tile
          key={gpu.device}
          label={`GPU ${gpu.device} busy`}
          value={percent(gpu.utilization_steps)}
          raw={gpu.utilization_steps}
          note={gpu.utilization_window === null ? undefined : `${percent(gpu.utilization_window)} with gaps between steps`}
          hint={`${DEFINITIONS.gpuBusy}\nKernels: ${exact(gpu.busy_ns)}.`}
          testId="gpu-util"
        />
      ))}
    </>
  );
}

function stepRange(all: Steps | null): string | undefined {
  if (!all || all.count === 0) return undefined;
  const cut = all.complete.filter((done) => !done).length;
  const range = all.count === 1 ? stepName(all, 0) : `${stepName(all, 0)} to ${stepName(all, all.count - 1)}`;
  return cut > 0 ? `${range}, ${count(cut)} incomplete` : range;
}

/** By phase and by activity; phases that were not recorded take no room, their tile says so. */
function TimeGoes({ worker }: { worker: WorkerSummary }): JSX.Element {
  return (
    <Await of={steps.now.value} what="the steps">
      {(all) => (all.count > 0 ? <TimeBars all={all} /> : <WithoutSteps worker={worker} />)}
    </Await>
  );
}

/** Without steps there is nothing to divide; the devices' time over the whole capture still tells where it went. */
function WithoutSteps({ worker }: { worker: WorkerSummary }): JSX.Element {
  const time = worker.timeline_ns;
  const total = time?.total ?? 0;
  const colors = ACTIVITY_COLORS[theme.value];
  const parts = DEVICE_TIME.map(({ key, label, title, color }) => {
    const ns = time?.[key] ?? 0;
    return { key, label, title, color: colors[color], ns, ratio: total > 0 ? ns / total : 0 };
  });
  return (
    <>
      <section class="card">
        <h2>No steps</h2>
        <Absent>
          The data has no step markers, so there are no step times. The PyTorch hook and the Keras callback mark steps by
          themselves; with torch.profiler call prof.step() after each step.
        </Absent>
      </section>
      {total > 0 && (
        <section class="card">
          <h2>Where the time goes: devices</h2>
          <p class="basis">From the first to the last device event of the capture, {duration(total)}, all devices merged</p>
          <StackedBar name="Device time" testId="device-time" perStep={0} parts={parts.filter((part) => part.ns > 0)} />
        </section>
      )}
    </>
  );
}

const DEVICE_TIME: { key: string; label: string; title: string; color: Activity }[] = [
  { key: "compute", label: "Compute", title: "A compute kernel ran.", color: "kernel" },
  { key: "exposed_communication", label: "Exposed communication", title: DEFINITIONS.classes.communication, color: "communication" },
  { key: "exposed_memcpy", label: "Exposed memory copy", title: DEFINITIONS.classes.memcpy, color: "memcpy" },
  { key: "exposed_memset", label: "Exposed memory set", title: DEFINITIONS.classes.memset, color: "memset" },
  { key: "idle", label: "Idle", title: "Nothing ran on any device.", color: "other" },
];

function TimeBars({ all }: { all: Steps }): JSX.Element {
  const phases = useMemo(() => totals(all.phase, PHASES, all.count), [all]);
  const activity = useMemo(() => totals(all.activity, ACTIVITIES, all.count), [all]);
  const phaseColors = PHASE_COLORS[theme.value];
  const activityColors = ACTIVITY_COLORS[theme.value];
  return (
    <>
      {(phases.total_ns > 0 || activity.total_ns === 0) && (
        <section class="card">
          <h2 title={DEFINITIONS.phases}>Where the time goes: phases</h2>
          {phases.total_ns > 0 ? (
            <>
              <p class="basis">
                Host time of {phases.steps === all.count && all.count > 1 ? "all " : ""}
                {plural(phases.steps, "step")}, {duration(phases.total_ns)} in all
              </p>
              <StackedBar
                name="Phase"
                testId="phase"
                perStep={phases.steps}
                parts={phases.shares.map((share) => ({
                  ...share,
                  label: PHASE_LABELS[share.key],
                  title: DEFINITIONS.phaseNames[share.key],
                  color: phaseColors[share.key],
                }))}
              />
            </>
          ) : (
            <Absent>Phases were not recorded. The PyTorch hook and the Keras callback record them; an imported trace has none.</Absent>
          )}
        </section>
      )}
      <section class="card">
        <h2 title={DEFINITIONS.activity}>Where the time goes: activity</h2>
        {activity.total_ns > 0 ? (
          <>
            <p class="basis">
              {activity.steps === all.count && all.count > 1 ? "All " : ""}
              {plural(activity.steps, "step")}
              {activity.steps === all.count ? "" : " captured in depth"},{" "}
              {duration(activity.total_ns)} in all
            </p>
            <StackedBar
              name="Activity"
              testId="activity"
              perStep={activity.steps}
              parts={activity.shares.map((share) => ({
                ...share,
                label: ACTIVITY_LABELS[share.key],
                title: DEFINITIONS.classes[share.key],
                color: activityColors[share.key],
              }))}
            />
          </>
        ) : (
          <Absent>No step was captured in depth, so there is nothing to divide into kernels, copies and host work yet.</Absent>
        )}
      </section>
    </>
  );
}

function StepTime(): JSX.Element | null {
  if (steps.now.value.value?.count === 0) return null;
  return (
    <section class="card">
      <h2 title={DEFINITIONS.stepDuration}>Step time</h2>
      <Await of={steps.now.value} what="the steps">
        {(all) => <StepTimeChart all={all} />}
      </Await>
    </section>
  );
}

function StepTimeChart({ all }: { all: Steps }): JSX.Element {
  const now = theme.value;
  const [uncut, setUncut] = useState(false);
  const cut = useMemo(() => cutOf(all.duration), [all]);
  const top = uncut ? null : (cut?.top ?? null);
  const option = useMemo(() => stepTimeOption(all, now, top), [all, now, top]);
  const open = (x: number) => {
    const i = nearestStep(stepAxis(all.id), x);
    if (i >= 0) openStep(all, i);
  };
  return (
    <>
      <Chart option={option} label={`Step time over ${plural(all.count, "step")}`} height={210} testId="step-time-chart" onClick={open} />
      <p class="chart-note">
        Click a step to open it in the timeline; ctrl + wheel zooms.
        {cut && <CutNote cut={cut} open={uncut} onToggle={() => setUncut(!uncut)} />}
      </p>
    </>
  );
}

function Utilisation(): JSX.Element | null {
  const { value } = resources.now.value;
  const series = useMemo(() => (value ? utilisationSeries(value) : []), [value]);
  if (value && series.length === 0) return null; // no monitor: the facts say so
  return (
    <section class="card">
      <h2 title={`${DEFINITIONS.cpu}\n${DEFINITIONS.gpuUtil}`}>CPU and GPU utilisation</h2>
      <Await of={resources.now.value} what="the resource curves">
        {(answer) => <UtilisationChart series={series} interval={answer.interval_ms} />}
      </Await>
    </section>
  );
}

function UtilisationChart({ series, interval }: { series: Series[]; interval: number | null }): JSX.Element {
  const now = theme.value;
  const option = useMemo(() => utilisationOption(series, now), [series, now]);
  return (
    <>
      <Chart option={option} label="CPU and GPU utilisation over time" height={210} testId="utilisation-chart" />
      <p class="chart-note">{interval ? `Sampled every ${duration(interval * 1e6)}. ` : ""}Time since the monitor started.</p>
    </>
  );
}

function DeviceTraffic({ worker }: { worker: WorkerSummary }): JSX.Element | null {
  const hasCopies = worker.memcpy && Object.keys(worker.memcpy).length > 0;
  const hasLaunches = worker.launches && worker.launches.count > 0;
  if (!hasCopies && !hasLaunches) return null;
  return (
    <div class="columns">
      {hasCopies && <Copies memcpy={worker.memcpy!} />}
      {hasLaunches && <Launching launches={worker.launches!} />}
    </div>
  );
}
