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

/** One line a metric, one column a device. Nothing where no device ran anything. */
export function GpuUse({ worker }: { worker: WorkerSummary }): JSX.Element | null {
  const { idle, gpu_count: known } = worker;
  const gpus = worker.gpu ?? [];
  if (gpus.length === 0) return null;
  const total = known ?? gpus.length;
  const devices = worker.devices ?? [];
  const idleOf = (gpu: GpuSummary) => idle?.devices?.find((row) => row.device === gpu.device);
  return (
    <Card
      title={gpus.length === 1 ? `How well GPU ${gpus[0].device} is used` : "How well the GPUs are used"}
      basis={total > gpus.length && `The first ${count(gpus.length)} of ${count(total)}`}
      data={(): CardData => ({
        columns: [
          { label: "Metric", unit: "text" },
          ...gpus.map((gpu) => ({ label: `GPU ${gpu.device}`, unit: "ratio" as const })),
        ],
        rows: METRICS.map((metric) => [
          worded(metric.label, worker),
          ...gpus.map((gpu) => metric.value(gpu, idleOf(gpu))),
        ]),
      })}
      isTable
      testId="gpu-card"
    >
      <div class="scroll-x">
        <table class="plain metrics">
          {gpus.length > 1 && (
            <thead>
              <tr>
                <th scope="col">
                  <span class="sr-only">Metric</span>
                </th>
                {gpus.map((gpu) => (
                  <th key={gpu.device} scope="col" title={devices.find((d) => d.id === gpu.device)?.name ?? undefined}>
                    GPU {gpu.device}
                  </th>
                ))}
              </tr>
            </thead>
          )}
          <tbody>
            {METRICS.map((metric) => (
              <tr key={metric.key} title={worded(metric.title, worker)}>
                <th scope="row">{worded(metric.label, worker)}</th>
                {gpus.map((gpu) => {
                  const ratio = metric.value(gpu, idleOf(gpu));
                  return (
                    <td key={gpu.device} data-testid={`gpu-${metric.key}`} data-value={ratio ?? undefined}>
                      {ratio === null ? (
                        <span class="faint" title={metric.absent}>
                          not measured
                        </span>
                      ) : (
                        <Meter ratio={ratio} />
                      )}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

const IDLE_PARTS = [
  { key: "busy_ns", label: "Busy", title: "Kernels, collectives, copies or fills ran.", color: "kernel" },
  { key: "host_wait_ns", label: "Waiting for the host", title: DEFINITIONS.hostWait, color: "cpu" },
  { key: "kernel_wait_ns", label: "Between kernels", title: DEFINITIONS.kernelWait, color: "memcpy" },
  { key: "other_ns", label: "Waiting for other work", title: DEFINITIONS.otherWait, color: "other" },
] as const;

/** Nothing where no device ran anything. */
export function IdleTime({ idle }: { idle: Idle | null }): JSX.Element | null {
  const rows = idle?.devices ?? [];
  if (rows.length === 0) return null;
  const sum = (key: keyof IdleRow) => rows.reduce((total, row) => total + (row[key] ?? 0), 0);
  const span = sum("span_ns");
  const colors = ACTIVITY_COLORS[theme.value];
  const parts = IDLE_PARTS.map(({ key, color, ...rest }) => {
    const ns = sum(key);
    return { key, ...rest, ns, ratio: span > 0 ? ns / span : 0, color: colors[color] };
  });
  return (
    <Card
      title="Why the GPU idles"
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
