// Where the work is: the top kernels and operators, memory copies, launches.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { KernelRow, Launches, MemcpyRow, OperatorRow, WorkerSummary } from "../api";
import { DEFINITIONS } from "../definitions";
import { bytes, count, DASH, duration, exact, percent, plural, rate } from "../format";
import { ROW_HEIGHT, Table, type Column } from "../ui/table";
import { Absent } from "../ui/states";

const MOST_ROWS = 12;

type View = "kernels" | "operators";

export function HotSpots({ worker }: { worker: WorkerSummary }): JSX.Element {
  const kernels = worker.kernels ?? [];
  const operators = worker.operators ?? [];
  const [chosen, choose] = useState<View | null>(null);
  const view: View = chosen ?? (kernels.length > 0 ? "kernels" : "operators");
  if (kernels.length === 0 && operators.length === 0) {
    return (
      <section class="card">
        <h2>Kernels and operators</h2>
        <Absent>No step was captured in depth, so single kernels and operators are not known yet.</Absent>
      </section>
    );
  }
  const total = view === "kernels" ? worker.kernel_count : worker.operator_count;
  const listed = view === "kernels" ? kernels.length : operators.length;
  return (
    <section class="card flush">
      <div class="card-head">
        <div class="segmented" role="group" aria-label="List">
          {(["kernels", "operators"] as const).map((name) => (
            <button key={name} type="button" aria-pressed={view === name} onClick={() => choose(name)}>
              {name === "kernels" ? "Kernels" : "Operators"}
            </button>
          ))}
        </div>
        <span class="card-note">
          {total !== null && total > listed ? `the first ${count(listed)} of ${count(total)}` : plural(listed, view.slice(0, -1))}
        </span>
      </div>
      {view === "kernels" ? <Kernels rows={kernels} /> : <Operators rows={operators} />}
    </section>
  );
}

const tableHeight = (rows: number) => (Math.min(rows, MOST_ROWS) + 1) * ROW_HEIGHT + 4;

function Kernels({ rows }: { rows: KernelRow[] }): JSX.Element {
  const columns = useMemo(() => kernelColumns(rows), [rows]);
  if (rows.length === 0) return <Absent>No kernels: nothing ran on a device in the capture.</Absent>;
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
    { key: "count", label: "Count", title: DEFINITIONS.count, numeric: true, value: (i) => rows[i].count, cell: (i) => count(rows[i].count) },
    time("mean", "Mean", DEFINITIONS.mean, (i) => rows[i].mean_ns),
    time("min", "Shortest", "The shortest run.", (i) => rows[i].min_ns),
    time("max", "Longest", "The longest run.", (i) => rows[i].max_ns),
  ];
}

function Operators({ rows }: { rows: OperatorRow[] }): JSX.Element {
  const columns = useMemo(() => operatorColumns(rows), [rows]);
  const onDevice = rows.some((row) => row.device_total_ns !== null && row.device_total_ns > 0);
  if (rows.length === 0) return <Absent>No operators: the capture holds no host operators.</Absent>;
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
    { key: "count", label: "Count", title: DEFINITIONS.count, numeric: true, value: (i) => rows[i].count, cell: (i) => count(rows[i].count) },
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

const DIRECTIONS: Record<string, string> = {
  HtoD: "Host to device",
  DtoH: "Device to host",
  DtoD: "Device to device",
  PtoP: "Peer to peer",
  HtoH: "Host to host",
};

export function Copies({ memcpy }: { memcpy: Record<string, MemcpyRow> }): JSX.Element {
  const rows = Object.entries(memcpy).sort(([, a], [, b]) => b.time_ns - a.time_ns);
  return (
    <section class="card">
      <h2>Memory copies</h2>
      <table class="plain" data-testid="memcpy">
        <thead>
          <tr>
            <th scope="col">Direction</th>
            <th scope="col" class="num" title={DEFINITIONS.count}>
              Count
            </th>
            <th scope="col" class="num" title={DEFINITIONS.memcpyTime}>
              Time
            </th>
            <th scope="col" class="num" title={DEFINITIONS.memcpyBytes}>
              Moved
            </th>
            <th scope="col" class="num" title={DEFINITIONS.memcpyRate}>
              Rate
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([direction, row]) => (
            <tr key={direction}>
              <th scope="row">{DIRECTIONS[direction] ?? direction}</th>
              <td class="num">{count(row.count)}</td>
              <td class="num" title={exact(row.time_ns)}>
                {duration(row.time_ns)}
              </td>
              <td class="num" title={row.bytes === null ? "The trace does not tell the size of its copies" : `${count(row.bytes)} bytes`}>
                {bytes(row.bytes)}
              </td>
              <td class="num" title={row.bytes_per_s === null ? "Needs the size of the copies" : undefined}>
                {rate(row.bytes_per_s)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export function Launching({ launches }: { launches: Launches }): JSX.Element {
  const latency = launches.latency_ns;
  const cells: [string, string, string][] = [
    ["Launches", count(launches.count), DEFINITIONS.launches],
    ["With a device run", count(launches.linked), DEFINITIONS.launchLinked],
    ["Without one", count(launches.without_run), "Launches whose device run is not in the capture."],
    ["Latency, median", duration(latency?.p50), DEFINITIONS.launchLatency],
    ["Latency, p90", duration(latency?.p90), DEFINITIONS.launchLatency],
    ["Latency, p99", duration(latency?.p99), DEFINITIONS.launchLatency],
    ["Latency, longest", duration(latency?.max), DEFINITIONS.launchLatency],
  ];
  if (launches.negative > 0) cells.push(["Latency below 0", count(launches.negative), DEFINITIONS.launchNegative]);
  if (launches.runs_without_launch > 0) {
    cells.push(["Runs without launch", count(launches.runs_without_launch), "Device work whose launch call is not in the capture."]);
  }
  return (
    <section class="card">
      <h2>Kernel launches</h2>
      <dl class="figures" data-testid="launches">
        {cells.map(([label, value, title]) => (
          <div key={label} title={value === DASH ? "No pair of a launch and its run" : title}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
