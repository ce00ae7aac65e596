// The large numbers on top of the Summary tab.

import type { JSX } from "preact";
import { numberingNote } from "../amd";
import type { GpuSummary, MemoryRow, OverviewAnswer, SummaryAnswer, WorkerSummary } from "../api";
import { shown } from "../data";
import { DEFINITIONS, NOT_MEASURED } from "../definitions";
import { bytes, count, DASH, digits, duration, exact, percent, plural } from "../format";
import { ACTIVITIES, PHASES } from "../kinds";
import { sharesOf, stepName } from "../steps";
import { allocatorName } from "./memory";
import { RequestTiles } from "./request-tiles";
import { Tile } from "./tile";

export function Tiles({ answer, steps: all }: { answer: SummaryAnswer; steps: OverviewAnswer | null }): JSX.Element {
  const { worker } = answer;
  return (
    <div class="tiles">
      {worker.inference && <RequestTiles data={worker.inference} />}
      {!isServing(worker) && <StepTiles answer={answer} steps={all} />}
      <GpuTiles gpus={worker.gpu ?? []} />
      <ExposedCommunication worker={worker} />
      <InputWait worker={worker} phased={answer.coverage?.phased_steps ?? 0} />
      <PeakMemory worker={worker} />
      <Cost worker={worker} />
    </div>
  );
}

/** Requests and no steps: what is told of steps would be dashes only. */
const isServing = (worker: WorkerSummary) => worker.inference !== null && !worker.step_count;

function StepTiles({ answer, steps: all }: { answer: SummaryAnswer; steps: OverviewAnswer | null }): JSX.Element {
  const { worker, step_time_ns: time } = answer;
  const n = worker.step_count;
  const timed = time?.count ?? 0; // complete steps only: how long a cut one would have been is not known
  const stepHint = (text: string, ns: number | null | undefined) =>
    ns == null ? NOT_MEASURED : `${text}\nExactly ${exact(ns)}, over ${plural(timed, "complete step")}.`;
  return (
    <>
      <Tile
        label="Step time, median"
        value={duration(time?.p50)}
        raw={time?.p50}
        note={
          timed === 1 ? (
            "of the only whole step"
          ) : timed > 1 ? (
            <>
              {(["p95", "p99"] as const).map((q) => (
                <span key={q} class="quantile" data-testid={`step-${q}`} data-value={time?.[q]}>
                  {q} {duration(time?.[q])}
                </span>
              ))}
            </>
          ) : n ? (
            "no step is complete"
          ) : (
            "no steps are marked"
          )
        }
        hint={stepHint(DEFINITIONS.stepP50, time?.p50)}
        testId="step-p50"
      />
      <Throughput worker={worker} />
      <Tile
        label="Steps"
        value={count(n)}
        raw={n}
        note={stepRange(all)}
        hint={DEFINITIONS.stepCount}
        testId="step-count"
      />
    </>
  );
}

/** Whether a trace of another tool is shown, which tells less than stepscope's hooks. */
const isTrace = () => shown.value.worker !== null && shown.value.worker.source !== "recording";

/** Samples a second, where the batch size is known; without it nothing where requests are told instead, and of a trace,
 * where the list of what is not measured tells. */
function Throughput({ worker }: { worker: WorkerSummary }): JSX.Element | null {
  const rate = worker.throughput;
  if (!rate && (isTrace() || worker.inference)) return null;
  return (
    <Tile
      label={rate ? "Throughput, samples" : "Throughput"}
      value={rate ? `${digits(rate.samples_per_s)}/s` : DASH}
      raw={rate?.samples_per_s}
      note={
        rate
          ? `batch ${count(rate.batch_size)}${rate.batch_size_from?.startsWith("the input shapes") ? " (shapes)" : ""}`
          : "batch size not told"
      }
      hint={
        rate
          ? `${DEFINITIONS.throughput}${rate.batch_size_from ? `\nThe batch size is told by ${rate.batch_size_from}.` : ""}`
          : `${NOT_MEASURED}: the batch size is not known. Give the profiler batch_size=..., load data with a DataLoader, or record input shapes.`
      }
      testId="throughput"
    />
  );
}

function InputWait({ worker, phased }: { worker: WorkerSummary; phased: number }): JSX.Element | null {
  const wait = worker.phase_total_ns?.input_wait ?? null;
  const total = sharesOf(worker.phase_total_ns, PHASES).total_ns;
  const ratio = wait !== null && total > 0 ? wait / total : null;
  if (ratio === null && worker.inference) return null; // requests come as they come
  return (
    <Tile
      label="Input wait"
      value={percent(ratio)}
      raw={ratio}
      note={ratio === null ? "not recorded" : `${duration((wait ?? 0) / Math.max(phased, 1))} a step`}
      hint={
        ratio === null
          ? `${NOT_MEASURED}: the hook and the callback record it; in a trace of another tool the fetches of a DataLoader tell it.`
          : `${DEFINITIONS.inputWait}\nExactly ${exact(wait)} of ${exact(total)}, over ${plural(phased, "step")}.`
      }
      testId="input-wait"
    />
  );
}

/** Only where ranks communicate on devices. */
function ExposedCommunication({ worker }: { worker: WorkerSummary }): JSX.Element | null {
  const talk = worker.communication;
  if (!talk || talk.total_ns === 0) return null;
  const total = sharesOf(worker.activity_total_ns, ACTIVITIES).total_ns;
  const exposed = worker.activity_total_ns?.communication ?? null;
  const ratio = exposed !== null && total > 0 ? exposed / total : null;
  return (
    <Tile
      label="Exposed comms"
      value={percent(ratio)}
      raw={ratio}
      note={talk.overlap === null ? undefined : `${percent(talk.overlap)} overlapped`}
      hint={
        ratio === null
          ? `${NOT_MEASURED}: ${DEFINITIONS.needsSteps}`
          : `${DEFINITIONS.exposedShare}\nExactly ${exact(exposed)} of ${exact(total)}.`
      }
      testId="exposed-communication"
    />
  );
}

/** Of the fullest device, else of the host; only where allocations were recorded. */
function PeakMemory({ worker }: { worker: WorkerSummary }): JSX.Element | null {
  const rows = worker.memory ?? [];
  const devices = rows.filter((row) => row.device !== null);
  const [peak] = [...(devices.length > 0 ? devices : rows)].sort((a, b) => b.peak_bytes - a.peak_bytes);
  if (!peak) return null;
  const numbering = numberingNote(worker);
  const place = numbering && devices.length === 1 ? "GPU" : `GPU ${peak.device}`; // its number would be another GPU's
  return (
    <Tile
      label={`Peak memory, ${peak.device === null ? "host" : place}`}
      value={bytes(peak.peak_bytes)}
      raw={peak.peak_bytes}
      note={peakNote(peak, worker)}
      hint={`${DEFINITIONS.memoryPeak}\nOf ${allocatorName(peak, rows)}: exactly ${count(peak.peak_bytes)} bytes${peak.is_absolute ? "" : ", a lower bound: the capture tells changes only"}.${numbering ? `\n${numbering}` : ""}`}
      testId="peak-memory"
    />
  );
}

function peakNote(peak: MemoryRow, worker: WorkerSummary): string | undefined {
  const whole = worker.devices?.find((device) => device.id === peak.device)?.memory_bytes;
  if (peak.device !== null && whole) return `${percent(peak.peak_bytes / whole)} of ${bytes(whole)}`;
  if (peak.peak_reserved_bytes !== null) return `${bytes(peak.peak_reserved_bytes)} reserved`;
  return peak.is_absolute ? undefined : "at least";
}

function Cost({ worker }: { worker: WorkerSummary }): JSX.Element {
  const cost = worker.overhead;
  const ratio = cost?.ratio ?? null;
  const hook = cost?.hook_ns_per_step ?? null;
  const hooks = (hook ?? 0) * (worker.step_count ?? 0);
  const stalls = cost?.stall_ns ?? 0;
  const most = stalls > hooks ? `stalls ${duration(stalls)} in all` : hook !== null && `${duration(hook)} a step`;
  const reason = isTrace() ? "a trace file does not tell it" : "the hooks tell it when the training ends";
  const effect = cost?.window_effect_ratio ?? null;
  const told =
    cost &&
    `Hooks: ${hook === null ? "not measured" : `${exact(hook)} a step`}. Stalls: ${exact(cost.stall_ns)}. ` +
      `Median step after a deep window against before it: ${effect === null ? "not measured" : `${effect < 0 ? "" : "+"}${(100 * effect).toFixed(1)} %`}.` +
      (cost.shed.length ? ` Given up to stay within the overhead budget: ${cost.shed.join(", ")}.` : "");
  return (
    <Tile
      label="Profiler overhead"
      value={percent(ratio)}
      raw={ratio}
      note={most || (isTrace() ? "not told by a trace" : "not known yet")}
      hint={
        ratio === null
          ? [`${NOT_MEASURED}: ${reason}.`, told].filter(Boolean).join("\n")
          : `${DEFINITIONS.overhead}\n${told}`
      }
      testId="overhead"
    />
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
    const hint = [
      DEFINITIONS.gpuBusy,
      ...told.map((gpu) => `GPU ${gpu.device}: ${percent(gpu.utilization_steps)}`),
    ].join("\n");
    const note = `${percent(values[0])} to ${percent(values.at(-1))}`;
    return (
      <Tile
        label={`${told.length} GPUs busy, mean`}
        value={percent(mean)}
        raw={mean}
        note={note}
        hint={hint}
        testId="gpu-util"
      />
    );
  }
  return (
    <>
      {told.map((gpu) => (
        <Tile
          key={gpu.device}
          label={`GPU ${gpu.device} busy`}
          value={percent(gpu.utilization_steps)}
          raw={gpu.utilization_steps}
          note={gpu.utilization_window === null ? undefined : `${percent(gpu.utilization_window)} with gaps`}
          hint={`${DEFINITIONS.gpuBusy}\nKernels: ${exact(gpu.busy_ns)}.`}
          testId="gpu-util"
        />
      ))}
    </>
  );
}

function stepRange(all: OverviewAnswer | null): string | undefined {
  if (!all || all.count === 0) return undefined;
  const last = all.index.length - 1;
  const range = all.count === 1 ? `step ${stepName(all, 0)}` : `${stepName(all, 0)} to ${stepName(all, last)}`;
  return all.incomplete > 0 ? `${range}, ${count(all.incomplete)} incomplete` : range;
}
