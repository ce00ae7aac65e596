// What the devices did: how busy they were, why they idled, and in which precision they computed.

import type { JSX } from "preact";
import { worded } from "../amd";
import type { GpuSummary, Idle, IdleRow, WorkerSummary } from "../api";
import { DEFINITIONS } from "../definitions";
import { count, duration, exact, plural } from "../format";
import { ACTIVITY_COLORS, PHASE_COLORS } from "../palette";
import { theme } from "../state";
import { sharesOf } from "../steps";
import { partsData, StackedBar } from "../ui/bar";
import { Card, type CardData } from "../ui/card";
import { Meter } from "../ui/meter";

/** Devices that have room beside each other. */
const MOST_COLUMNS = 2;

interface Metric {
  key: string;
  label: string;
  title: string;
  absent: string;
  value: (gpu: GpuSummary, idle: IdleRow | undefined) => number | null;
}

const METRICS: Metric[] = [
  {
    key: "steps",
    label: "Busy in the steps",
    title: DEFINITIONS.gpuBusy,
    absent: DEFINITIONS.needsSteps,
    value: (gpu) => gpu.utilization_steps,
  },
  {
    key: "window",
    label: "Busy, gaps between steps included",
    title: DEFINITIONS.gpuWindow,
    absent: DEFINITIONS.needsSteps,
    value: (gpu) => gpu.utilization_window,
  },
  {
    key: "sm",
    label: "SM efficiency, estimated",
    title: DEFINITIONS.smEfficiency,
    absent: "Needs steps, and kernel records or launch calls that tell the grid.",
    value: (gpu) => gpu.sm_efficiency,
  },
  {
    key: "occupancy",
    label: "Achieved occupancy, estimated",
    title: DEFINITIONS.occupancy,
    absent: "Needs kernel records that tell the occupancy; those of this trace do not.",
    value: (gpu) => gpu.occupancy,
  },
  {
    key: "tensor",
    label: "Tensor Core kernels",
    title: DEFINITIONS.tensorCores,
    absent: "Needs kernels that start in a step.",
    value: (gpu) => gpu.tensor_core_time,
  },
  {
    key: "idle",
    label: "Idle, first to last work",
    title: DEFINITIONS.idle,
    absent: "The analysis of idle times has no entry for this device.",
    value: (_, idle) => (idle && idle.span_ns > 0 ? idle.idle_ns / idle.span_ns : null),
  },
];

/** One line a metric, one column a device; of several devices the other way round. Nothing where no device ran anything. */
export function GpuUse({ worker }: { worker: WorkerSummary }): JSX.Element | null {
  const { idle, gpu_count: known } = worker;
  const gpus = worker.gpu ?? [];
  if (gpus.length === 0) return null;
  const total = known ?? gpus.length;
  const valueOf = (metric: Metric, gpu: GpuSummary) =>
    metric.value(
      gpu,
      idle?.devices?.find((row) => row.device === gpu.device),
    );
  return (
    <Card
      title={gpus.length === 1 ? `How well GPU ${gpus[0].device} is used` : "How well the GPUs are used"}
      basis={total > gpus.length && `The first ${count(gpus.length)} of ${count(total)}`}
      data={(): CardData => ({
        columns: [
          { label: "Metric", unit: "text" },
          ...gpus.map((gpu) => ({ label: `GPU ${gpu.device}`, unit: "ratio" as const })),
        ],
        rows: METRICS.map((metric) => [worded(metric.label, worker), ...gpus.map((gpu) => valueOf(metric, gpu))]),
      })}
      isTable
      testId="gpu-card"
    >
      {gpus.length > MOST_COLUMNS ? (
        <ByDevice worker={worker} gpus={gpus} valueOf={valueOf} />
      ) : (
        <div class="scroll-x">
          <table class="plain metrics">
            {gpus.length > 1 && (
              <thead>
                <tr>
                  <th scope="col">
                    <span class="sr-only">Metric</span>
                  </th>
                  {gpus.map((gpu) => (
                    <DeviceHead key={gpu.device} gpu={gpu} worker={worker} scope="col" />
                  ))}
                </tr>
              </thead>
            )}
            <tbody>
              {METRICS.map((metric) => (
                <tr key={metric.key} title={worded(metric.title, worker)}>
                  <th scope="row">{worded(metric.label, worker)}</th>
                  {gpus.map((gpu) => (
                    <Value key={gpu.device} metric={metric} ratio={valueOf(metric, gpu)} />
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

/** The same with a row a device, whatever their number; what none of them has is said once. */
function ByDevice(props: {
  worker: WorkerSummary;
  gpus: readonly GpuSummary[];
  valueOf: (metric: Metric, gpu: GpuSummary) => number | null;
}): JSX.Element {
  const { worker, gpus, valueOf } = props;
  const isMeasured = (metric: Metric) => gpus.some((gpu) => valueOf(metric, gpu) !== null);
  const absent = METRICS.filter((metric) => !isMeasured(metric));
  return (
    <>
      <table class="plain metrics by-device">
        <thead>
          <tr>
            <th scope="col">
              <span class="sr-only">Device</span>
            </th>
            {METRICS.filter(isMeasured).map((metric) => (
              <th key={metric.key} scope="col" title={worded(metric.title, worker)}>
                {worded(metric.label, worker)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {gpus.map((gpu) => (
            <tr key={gpu.device}>
              <DeviceHead gpu={gpu} worker={worker} scope="row" />
              {METRICS.filter(isMeasured).map((metric) => (
                <Value key={metric.key} metric={metric} ratio={valueOf(metric, gpu)} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {absent.length > 0 && (
        <p class="chart-note">
          Not measured:{" "}
          {absent.map((metric, i) => (
            <span key={metric.key} title={metric.absent} data-testid={`gpu-${metric.key}`}>
              {i > 0 && "; "}
              {worded(metric.label, worker)}
            </span>
          ))}
        </p>
      )}
    </>
  );
}

function DeviceHead(props: { gpu: GpuSummary; worker: WorkerSummary; scope: "row" | "col" }): JSX.Element {
  const { gpu, worker, scope } = props;
  return (
    <th scope={scope} title={worker.devices?.find((d) => d.id === gpu.device)?.name ?? undefined}>
      GPU {gpu.device}
    </th>
  );
}

function Value({ metric, ratio }: { metric: Metric; ratio: number | null }): JSX.Element {
  return (
    <td data-testid={`gpu-${metric.key}`} data-value={ratio ?? undefined}>
      {ratio === null ? (
        <span class="faint" title={metric.absent}>
          not measured
        </span>
      ) : (
        <Meter ratio={ratio} />
      )}
    </td>
  );
}

const IDLE_PARTS = [
  { key: "busy_ns", label: "Busy, with copies", title: "Kernels, collectives, copies or fills ran.", color: "kernel" },
  { key: "host_wait_ns", label: "Waiting for the host", title: DEFINITIONS.hostWait, color: "cpu" },
  { key: "kernel_wait_ns", label: "Between kernels", title: DEFINITIONS.kernelWait, color: "memcpy" },
  { key: "other_ns", label: "Waiting for other work", title: DEFINITIONS.otherWait, color: "communication" },
  { key: "unlaunched_ns", label: "Launch not in the trace", title: DEFINITIONS.unlaunched, color: "other" },
] as const;

/** Nothing where no device ran anything. */
export function IdleTime({ idle }: { idle: Idle | null }): JSX.Element | null {
  const rows = idle?.devices ?? [];
  if (rows.length === 0) return null;
  const sum = (key: keyof IdleRow) => rows.reduce((total, row) => total + (row[key] ?? 0), 0);
  const span = sum("span_ns");
  const colors = ACTIVITY_COLORS[theme.value];
  const parts = IDLE_PARTS.map(({ key, color, ...rest }) => {
    const ns = sum(key) - (key === "other_ns" ? sum("unlaunched_ns") : 0);
    return { key, ...rest, ns, ratio: span > 0 ? ns / span : 0, color: colors[color] };
  });
  return (
    <Card
      title={rows.length > 1 ? "Why the GPUs idle" : "Why the GPU idles"}
      definition={DEFINITIONS.idle}
      basis={
        <span title={`Idle ${exact(sum("idle_ns"))} of ${exact(span)}`}>
          {rows.length > 1 ? `${plural(rows.length, "GPU")} together: idle` : "Idle"} {duration(sum("idle_ns"))} of{" "}
          {duration(span)} between first and last work
        </span>
      }
      data={() => partsData("Device time", parts)}
      isTable
    >
      <StackedBar name="Device time" testId="idle" perStep={0} parts={parts.filter((part) => part.ns > 0)} />
    </Card>
  );
}

/** Wide formats in warm colours, narrow ones in cool ones: the colours of the phases, which stay apart. */
const PRECISIONS = [
  { key: "fp64", label: "FP64", title: "Double precision.", color: "validation" },
  { key: "fp32", label: "FP32", title: "Single precision, without Tensor Cores.", color: "h2d" },
  { key: "tf32", label: "TF32", title: "Single precision on Tensor Cores.", color: "optimizer" },
  { key: "fp16", label: "FP16", title: "Half precision.", color: "compute" },
  { key: "bf16", label: "BF16", title: "bfloat16.", color: "forward" },
  { key: "fp8", label: "FP8", title: "8-bit floats.", color: "backward" },
  { key: "int8", label: "INT8", title: "8-bit integers.", color: "input_wait" },
  {
    key: "other",
    label: "Other or unknown",
    title: "Other integers, 4-bit floats, and whatever is not known.",
    color: "other",
  },
] as const;

/** Nothing where no compute kernel ran: another card says so. */
export function Precision({ worker }: { worker: WorkerSummary }): JSX.Element | null {
  const { total_ns: total, shares } = sharesOf(
    worker.precision_ns,
    PRECISIONS.map((p) => p.key),
  );
  if (total === 0) return null;
  const colors = PHASE_COLORS[theme.value];
  const parts = shares.map((share) => {
    const { label, title, color } = PRECISIONS.find((p) => p.key === share.key)!;
    return { ...share, label, title: worded(title, worker), color: colors[color] };
  });
  return (
    <Card
      title="Precision of the kernels, estimated"
      definition={DEFINITIONS.precision}
      basis={`${duration(total)} of compute kernels`}
      data={() => partsData("Precision", parts)}
      isTable
    >
      <StackedBar name="Precision" testId="precision" perStep={0} parts={parts} />
    </Card>
  );
}
