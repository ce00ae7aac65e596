// Where the work is: the top kernels, operators, modules and annotations.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { AnnotationRow, KernelRow, ModuleRow, OperatorRow, WorkerSummary } from "../api";
import { DEFINITIONS } from "../definitions";
import { count, duration, exact, percent, plural } from "../format";
import { Meter } from "../ui/meter";
import { ROW_HEIGHT, Table, type Column } from "../ui/table";
import { Absent } from "../ui/states";
import { Toggle } from "../ui/toggle";

const MOST_ROWS = 12;

type View = "kernels" | "operators" | "modules" | "annotations";

const LABELS: Record<View, string> = {
  kernels: "Kernels",
  operators: "Operators",
  modules: "Modules",
  annotations: "Annotations",
};

export function HotSpots({ worker }: { worker: WorkerSummary }): JSX.Element {
  const rows = {
    kernels: worker.kernels ?? [],
    operators: worker.operators ?? [],
    modules: worker.modules ?? [],
    annotations: worker.annotations ?? [],
  };
  const views = Object.keys(LABELS) as View[];
  const [chosen, choose] = useState<View | null>(null);
  const view = chosen ?? views.find((name) => rows[name].length > 0) ?? "kernels";
  const listed = rows[view].length;
  const totals = {
    kernels: worker.kernel_count,
    operators: worker.operator_count,
    // The list has an entry more, for what belongs to no module.
    modules: worker.modules_total === null ? null : worker.modules_total + 1,
    annotations: worker.annotation_count,
  };
  const total = totals[view] ?? listed;
  return (
    <section class="card flush">
      <div class="card-head">
        <Toggle
          label="List"
          value={view}
          choices={views.map((name) => ({
            value: name,
            label: LABELS[name],
            off: rows[name].length === 0 && NONE[name],
          }))}
          onChoose={(name) => choose(name as View)}
        />
        <span class="card-note">
          {total > listed ? `the first ${count(listed)} of ${count(total)}` : plural(listed, view.slice(0, -1))}
        </span>
      </div>
      {listed === 0 ? (
        <Absent>No step was captured in depth, so single kernels and operators are not known yet.</Absent>
      ) : view === "kernels" ? (
        <Kernels rows={rows.kernels} />
      ) : view === "operators" ? (
        <Operators rows={rows.operators} />
      ) : view === "modules" ? (
        <Modules rows={rows.modules} />
      ) : (
        <Annotations rows={rows.annotations} />
      )}
    </section>
  );
}

const NONE: Record<View, string> = {
  kernels: "Nothing ran on a device in the capture",
  operators: "The capture holds no host operators",
  modules: "The capture tells no modules: record it with_stack (PyTorch), or with name scopes (TensorFlow, JAX)",
  annotations: "The code names no regions: stepscope.annotate does",
};

const tableHeight = (rows: number) => (Math.min(rows, MOST_ROWS) + 1) * ROW_HEIGHT + 4;

function Kernels({ rows }: { rows: KernelRow[] }): JSX.Element {
  const columns = useMemo(() => kernelColumns(rows), [rows]);
  return (
    <Table
      name="Kernels"
      testId="kernel"
      count={rows.length}
      columns={columns}
      initial={{ key: "total", descending: true }}
      height={tableHeight(rows.length)}
      version={rows}
    />
  );
}

function kernelColumns(rows: KernelRow[]): Column[] {
  const total = rows.reduce((sum, row) => sum + row.total_ns, 0);
  const share = (i: number) => (total > 0 ? rows[i].total_ns / total : null);
  return [
    { key: "name", label: "Kernel", value: (i) => rows[i].name, hint: (i) => rows[i].name },
    {
      key: "kind",
      label: "Kind",
      width: 128,
      value: (i) => kernelKind(rows[i]),
      hint: (i) => kernelHint(rows[i]),
    },
    time("total", "Total", DEFINITIONS.kernelTotal, (i) => rows[i].total_ns),
    {
      key: "share",
      label: "Share",
      title: DEFINITIONS.kernelShare,
      numeric: true,
      value: share,
      cell: (i) => <Meter ratio={share(i)} />,
    },
    {
      key: "count",
      label: "Count",
      title: DEFINITIONS.count,
      numeric: true,
      value: (i) => rows[i].count,
      cell: (i) => count(rows[i].count),
    },
    time("mean", "Mean", DEFINITIONS.mean, (i) => rows[i].mean_ns),
    time("min", "Shortest", "The shortest run.", (i) => rows[i].min_ns),
    time("max", "Longest", "The longest run.", (i) => rows[i].max_ns),
  ];
}

/** Communication, or the precision with the mark of Tensor Cores: what the kernel is good for. */
function kernelKind(row: KernelRow): string {
  if (row.kind === "communication") return "communication";
  if (row.precision === null || row.precision === "other") return "compute";
  return `${row.precision}${row.matrix_units ? ", Tensor Core" : ""}`;
}

function kernelHint(row: KernelRow): string {
  const facts = [
    row.precision === null ? null : `Precision of its arithmetic, estimated: ${row.precision}`,
    row.matrix_units ? "Its name tells of Tensor or Matrix Cores" : null,
    row.occupancy === null ? null : `Achieved occupancy, estimated: ${percent(row.occupancy)}`,
    row.blocks_per_sm === null ? null : `Blocks per multiprocessor: ${row.blocks_per_sm}`,
  ];
  return facts.filter(Boolean).join("\n") || "Nothing more is told of this kernel";
}

function Operators({ rows }: { rows: OperatorRow[] }): JSX.Element {
  const columns = useMemo(() => operatorColumns(rows), [rows]);
  const onDevice = rows.some((row) => row.device_total_ns !== null && row.device_total_ns > 0);
  return (
    <Table
      name="Operators"
      testId="operator"
      count={rows.length}
      columns={columns}
      initial={{ key: onDevice ? "device-self" : "host-self", descending: true }}
      height={tableHeight(rows.length)}
      version={rows}
    />
  );
}

function operatorColumns(rows: OperatorRow[]): Column[] {
  const total = rows.reduce((sum, row) => sum + (row.host_self_ns ?? 0), 0);
  const share = (i: number) => (total > 0 && rows[i].host_self_ns !== null ? rows[i].host_self_ns / total : null);
  const mean = (i: number) => {
    const ns = rows[i].host_total_ns;
    return ns === null || rows[i].count === 0 ? null : ns / rows[i].count;
  };
  return [
    { key: "name", label: "Operator", value: (i) => rows[i].name, hint: (i) => rows[i].name },
    {
      key: "count",
      label: "Count",
      title: DEFINITIONS.count,
      numeric: true,
      value: (i) => rows[i].count,
      cell: (i) => count(rows[i].count),
    },
    time("host-self", "Host self", DEFINITIONS.hostSelf, (i) => rows[i].host_self_ns),
    {
      key: "share",
      label: "Host share",
      title: "Host self time, divided by that of all operators in the list.",
      numeric: true,
      value: share,
      cell: (i) => <Meter ratio={share(i)} />,
    },
    time("host-total", "Host total", DEFINITIONS.hostTotal, (i) => rows[i].host_total_ns),
    time("mean", "Host mean", "Host total divided by the number of calls.", mean),
    ...(rows.some((row) => row.device_total_ns !== null)
      ? [
          time("device-self", "Device self", DEFINITIONS.deviceSelf, (i) => rows[i].device_self_ns),
          time("device-total", "Device total", DEFINITIONS.deviceTotal, (i) => rows[i].device_total_ns),
        ]
      : []),
  ];
}

function Modules({ rows }: { rows: ModuleRow[] }): JSX.Element {
  const columns = useMemo(() => moduleColumns(rows), [rows]);
  const onDevice = rows.some((row) => (row.forward_device_total_ns ?? 0) > 0);
  return (
    <Table
      name="Modules"
      testId="module"
      count={rows.length}
      columns={columns}
      initial={{ key: onDevice ? "device-self" : "host-self", descending: true }}
      height={tableHeight(rows.length)}
      version={rows}
    />
  );
}

function moduleColumns(rows: ModuleRow[]): Column[] {
  const path = (i: number) => rows[i].path.join(" › ");
  const own = (i: number) => rows[i].forward_device_self_ns;
  const all = rows.reduce((sum, row) => sum + (row.forward_device_self_ns ?? 0), 0);
  const share = (i: number) => (all > 0 && own(i) !== null ? (own(i) ?? 0) / all : null);
  const hasBackward = rows.some((row) => row.backward_device_total_ns !== null);
  const onDevice = all > 0;
  return [
    {
      key: "name",
      label: "Module",
      value: path,
      cell: (i) => <ModuleName path={rows[i].path} />,
      hint: (i) => path(i) || "Work that belongs to no module",
    },
    {
      key: "count",
      label: "Calls",
      title: "Forward calls; name scopes have none.",
      numeric: true,
      value: (i) => rows[i].calls,
      cell: (i) => count(rows[i].calls),
    },
    ...(onDevice
      ? [
          time("device-self", "Device self", DEFINITIONS.moduleDeviceSelf, own),
          {
            key: "share",
            label: "Share",
            title: "Device self time, divided by that of all modules in the list.",
            numeric: true,
            value: share,
            cell: (i: number) => <Meter ratio={share(i)} />,
          },
          time("device-total", "Device total", DEFINITIONS.moduleDevice, (i) => rows[i].forward_device_total_ns),
        ]
      : []),
    ...(hasBackward
      ? [time("backward", "Backward", DEFINITIONS.moduleBackward, (i) => rows[i].backward_device_total_ns)]
      : []),
    time("host-self", "Host self", DEFINITIONS.moduleHost, (i) => rows[i].forward_host_self_ns),
    time("host-total", "Host total", "Time on the host inside the calls.", (i) => rows[i].forward_host_total_ns),
  ];
}

/** The module's own name first: the way to it may be long. */
function ModuleName({ path }: { path: string[] }): JSX.Element {
  if (path.length === 0) return <span class="faint">outside of modules</span>;
  return (
    <>
      {path[path.length - 1]} {path.length > 1 && <span class="faint">in {path.slice(0, -1).join(" › ")}</span>}
    </>
  );
}

function Annotations({ rows }: { rows: AnnotationRow[] }): JSX.Element {
  const columns = useMemo(() => annotationColumns(rows), [rows]);
  return (
    <Table
      name="Annotations"
      testId="annotation"
      count={rows.length}
      columns={columns}
      initial={{ key: "total", descending: true }}
      height={tableHeight(rows.length)}
      version={rows}
    />
  );
}

function annotationColumns(rows: AnnotationRow[]): Column[] {
  return [
    { key: "name", label: "Annotation", value: (i) => rows[i].name, hint: (i) => rows[i].name },
    {
      key: "count",
      label: "Count",
      title: DEFINITIONS.count,
      numeric: true,
      value: (i) => rows[i].count,
      cell: (i) => count(rows[i].count),
    },
    time("total", "Total", "Sum of the durations, nested ones included.", (i) => rows[i].total_ns),
    time("p50", "Median", "Half of them were not longer.", (i) => rows[i].p50_ns),
    time("p99", "p99", "99 of 100 were not longer.", (i) => rows[i].p99_ns),
  ];
}

function time(key: string, label: string, title: string, value: (row: number) => number | null): Column {
  return { key, label, title, numeric: true, value, cell: (i) => duration(value(i)), hint: (i) => exact(value(i)) };
}
