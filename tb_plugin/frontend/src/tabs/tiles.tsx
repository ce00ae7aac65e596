// The large numbers on top of the Summary tab.

import type { JSX } from "preact";
import type { GpuSummary, SummaryAnswer } from "../api";
import { DEFINITIONS, NOT_MEASURED } from "../definitions";
import { count, DASH, duration, exact, percent, plural } from "../format";
import { PHASES } from "../kinds";
import { stepName, totals, type Steps } from "../steps";

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

export function Tiles({ answer, steps: all }: { answer: SummaryAnswer; steps: Steps | null }): JSX.Element {
  const { worker, step_time_ns: time } = answer;
  const phases = all && totals(all.phase, PHASES, all.count);
  const waiting = phases?.shares.find((share) => share.key === "input_wait");
  const waitRatio = phases && phases.steps > 0 ? (waiting?.ratio ?? 0) : null;
  const n = worker.step_count ?? all?.count ?? null;
  const timed = time?.count ?? 0; // complete steps only: how long a cut one would have been is not known
  const stepHint = (text: string, ns: number | null | undefined) =>
    ns == null ? NOT_MEASURED : `${text}\nExactly ${exact(ns)}, over ${plural(timed, "complete step")}.`;
  return (
    <div class="tiles">
      <Tile
        label="Step time, median"
        value={duration(time?.p50)}
        raw={time?.p50}
        note={timed > 0 ? `of ${plural(timed, "step")}` : undefined}
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
      <Tile
        label="Steps"
        value={count(n)}
        raw={n}
        note={stepRange(all)}
        hint={DEFINITIONS.stepCount}
        testId="step-count"
      />
      <GpuTiles gpus={worker.gpu ?? []} />
      <Tile
        label="Input wait"
        value={percent(waitRatio)}
        raw={waitRatio}
        note={
          waitRatio === null ? "phases were not recorded" : `${duration((waiting?.ns ?? 0) / phases!.steps)} a step`
        }
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
          note={
            gpu.utilization_window === null ? undefined : `${percent(gpu.utilization_window)} with gaps between steps`
          }
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
