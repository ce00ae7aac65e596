// Where the work is: the top kernels, operators and annotations.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { AnnotationRow, KernelRow, OperatorRow, WorkerSummary } from "../api";
import { DEFINITIONS } from "../definitions";
import { count, duration, exact, percent, plural } from "../format";
import { ROW_HEIGHT, Table, type Column } from "../ui/table";
import { Absent } from "../ui/states";
import { Toggle } from "../ui/toggle";

const MOST_ROWS = 12;

type View = "kernels" | "operators" | "annotations";

const LABELS: Record<View, string> = { kernels: "Kernels", operators: "Operators", annotations: "Annotations" };

export function HotSpots({ worker }: { worker: WorkerSummary }): JSX.Element {
  const rows = {
    kernels: worker.kernels ?? [],
    operators: worker.operators ?? [],
    annotations: worker.annotations ?? [],
  };
  const views = Object.keys(LABELS) as View[];
  const [chosen, choose] = useState<View | null>(null);
  const view = chosen ?? views.find((name) => rows[name].length > 0) ?? "kernels";
  const listed = rows[view].length;
  const totals = { kernels: worker.kernel_count, operators: worker.operator_count, annotations: listed };
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
      ) : (
        <Annotations rows={rows.annotations} />
      )}
    </section>
  );
}

const NONE: Record<View, string> = {
  kernels: "Nothing ran on a device in the capture",
  operators: "The capture holds no host operators",
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
    { key: "kind", label: "Kind", width: 124, value: (i) => rows[i].kind },
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
    time("device-self", "Device self", DEFINITIONS.deviceSelf, (i) => rows[i].device_self_ns),
    time("device-total", "Device total", DEFINITIONS.deviceTotal, (i) => rows[i].device_total_ns),
  ];
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

function Meter({ ratio }: { ratio: number | null }): JSX.Element {
  return (
    <span class="meter">
      <span class="meter-bar" style={{ width: `${Math.round((ratio ?? 0) * 1000) / 10}%` }} />
      <span class="meter-text">{percent(ratio)}</span>
    </span>
  );
}
