// What the resource monitor saw over the whole run, each metric in numbers.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { ResourceRow } from "../api";
import { summary } from "../data";
import { quantity } from "../format";
import type { Unit, Value } from "../table/requests";
import { exactText, shownText } from "../table/cells";
import { Card } from "../ui/card";
import { ROW_HEIGHT, Table, type Column } from "../ui/table";

/** Metrics in words with their unit, in the order of the table; cores have a map of their own. */
const METRICS: Record<string, [label: string, unit: Unit | "per_s"]> = {
  cpu: ["CPU, all cores", "ratio"],
  iowait: ["I/O wait", "ratio"],
  process_cpu: ["Training process, cores busy", "number"],
  process_context_switches: ["Context switches", "per_s"],
  process_migrations: ["Moves to another core", "per_s"],
  process_page_faults: ["Page faults", "per_s"],
  process_cycles: ["Cycles", "per_s"],
  process_instructions: ["Instructions", "per_s"],
  process_instructions_per_cycle: ["Instructions per cycle", "number"],
  process_cache_misses: ["Cache misses", "per_s"],
  process_branch_misses: ["Branch misses", "per_s"],
  process_itlb_misses: ["Instruction TLB misses", "per_s"],
  gpu: ["GPU, all", "ratio"],
  gpu_memory_used: ["GPU memory in use", "bytes"],
  memory_used: ["Memory in use", "bytes"],
  process_memory: ["Training process, memory", "bytes"],
  cgroup_memory_used: ["Container, memory", "bytes"],
  network_receive: ["Network, received", "bytes_per_s"],
  network_send: ["Network, sent", "bytes_per_s"],
  disk_read: ["Disk, read", "bytes_per_s"],
  disk_write: ["Disk, written", "bytes_per_s"],
};
const COLUMNS: [keyof ResourceRow, string, string][] = [
  ["min", "Least", "The smallest sample."],
  ["p50", "Median", "Median over time: each sample counts as much as the time it stands for."],
  ["mean", "Mean", "Mean over time."],
  ["p95", "p95", "95th percentile over time."],
  ["p99", "p99", "99th percentile over time."],
  ["max", "Largest", "The largest sample."],
];

export function ResourceNumbers(): JSX.Element | null {
  const told = summary.now.value.value?.resources ?? null;
  const rows = useMemo(() => rowsOf(told), [told]);
  const columns = useMemo(() => columnsOf(rows), [rows]);
  if (rows.length === 0) return null;
  return (
    <Card
      title="In numbers"
      definition="Distributions of the samples of this worker's monitor. Of several GPUs the samples count together."
      basis="The whole run, whatever interval is on show."
      data={() => ({
        columns: [
          { label: "Metric", unit: "text" },
          { label: "Unit", unit: "text" },
          ...COLUMNS.map(([, label, title]) => ({ label, title, unit: "number" as const })),
          { label: "Samples", unit: "count" },
        ],
        rows: rows.map(({ label, unit, row }): Value[] => [
          label,
          { ratio: "ratio", bytes: "bytes", bytes_per_s: "bytes/s" }[unit as string] ?? "",
          ...COLUMNS.map(([key]) => row[key] as number),
          row.samples,
        ]),
      })}
      isTable
      testId="resource-numbers"
    >
      <Table
        name="Metrics"
        testId="metric"
        count={rows.length}
        columns={columns}
        initial={{ key: "", descending: false }}
        height={(rows.length + 1) * ROW_HEIGHT + 4}
        version={rows}
      />
    </Card>
  );
}

interface Row {
  label: string;
  unit: Unit | "per_s";
  row: ResourceRow;
}

function rowsOf(told: Record<string, Record<string, ResourceRow>> | null): Row[] {
  const hosts = Object.values(told ?? {});
  return hosts.flatMap((metrics) =>
    Object.entries(METRICS).flatMap(([name, [label, unit]]) =>
      metrics[name] ? [{ label, unit, row: metrics[name] }] : [],
    ),
  );
}

const shown = ({ row, unit }: Row, key: keyof ResourceRow) =>
  unit === "per_s" ? quantity(row[key] as number, unit) : shownText(row[key] as number, unit);

function columnsOf(rows: readonly Row[]): Column[] {
  return [
    { key: "label", label: "Metric", width: 240, value: (i) => rows[i].label, cell: (i) => rows[i].label },
    ...COLUMNS.map(
      ([key, label, title]): Column => ({
        key,
        label,
        title,
        numeric: true,
        value: (i) => rows[i].row[key] as number,
        cell: (i) => shown(rows[i], key),
        hint: (i) => {
          const { row, unit } = rows[i];
          return unit === "per_s" ? `${String(row[key])} a second` : exactText(row[key] as number, unit);
        },
      }),
    ),
    {
      key: "samples",
      label: "Samples",
      title: "Samples taken.",
      numeric: true,
      value: (i) => rows[i].row.samples,
      cell: (i) => shownText(rows[i].row.samples, "count"),
    },
  ];
}
