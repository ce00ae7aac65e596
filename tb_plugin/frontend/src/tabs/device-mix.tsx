// What the devices spent their time on: kernels, copies, fills and synchronisation; and the memory operations by kind.

import type { JSX } from "preact";
import type { MemoryOperationRow, WorkerSummary } from "../api";
import { textOn } from "../color";
import { DEFINITIONS } from "../definitions";
import { bytes, count, duration, exact, percent, plural, rate } from "../format";
import { ACTIVITY_COLORS, memoryOperationColor, type Theme } from "../palette";
import { theme } from "../state";
import { partsData, StackedBar, type Part } from "../ui/bar";
import { Card, type CardData } from "../ui/card";
import { PlainTable } from "../ui/plain-table";

const CLASSES = [
  { key: "kernel", label: "Kernels", title: "Kernels and collectives.", color: "kernel" },
  { key: "memcpy", label: "Memory copies", title: "Copies on device queues.", color: "memcpy" },
  { key: "memset", label: "Memory fills", title: "Fills on device queues.", color: "memset" },
  { key: "sync", label: "Synchronisation", title: DEFINITIONS.activitySync, color: "runtime" },
] as const;

/** Nothing where no device ran anything. */
export function GpuActivity({ worker }: { worker: WorkerSummary }): JSX.Element | null {
  const times = worker.activity_time_ns;
  if (!times || times.kernel === null) return null;
  const total = CLASSES.reduce((sum, { key }) => sum + (times[key] ?? 0), 0);
  if (total === 0) return null;
  const colors = ACTIVITY_COLORS[theme.value];
  const parts: Part[] = CLASSES.filter(({ key }) => (times[key] ?? 0) > 0).map(({ key, label, title, color }) => {
    const ns = times[key] ?? 0;
    return { key, label, title, ns, ratio: ns / total, color: colors[color] };
  });
  return (
    <Card
      title="GPU activity"
      definition={DEFINITIONS.gpuActivity}
      basis={`${duration(total)} of device work and synchronisation, overlaps counted as often as they occur`}
      data={() => partsData("Activity", parts)}
      isTable
      testId="gpu-activity-card"
    >
      <StackedBar name="Activity" testId="gpu-activity" perStep={0} parts={parts} />
    </Card>
  );
}

const DIRECTIONS: Record<string, string> = {
  HtoD: "Host to device",
  DtoH: "Device to host",
  DtoD: "Device to device",
  PtoP: "Peer to peer",
  HtoH: "Host to host",
  unknown: "Copy, direction not told",
};

export function operationName(row: MemoryOperationRow): string {
  const what =
    row.operation === "memset" ? "Fill" : (DIRECTIONS[row.direction ?? "unknown"] ?? row.direction ?? "Copy");
  const ends = [row.source, row.target].filter((end) => end !== null).join(" → ");
  return ends ? `${what} (${ends})` : what;
}

function colorsOf(rows: readonly MemoryOperationRow[], theme: Theme): string[] {
  const seen = new Map<string | null, number>();
  return rows.map((row) => {
    const direction = row.operation === "memset" ? null : (row.direction ?? "unknown");
    const nth = seen.get(direction) ?? 0;
    seen.set(direction, nth + 1);
    return memoryOperationColor(theme, direction, nth);
  });
}

/** Copies and fills by direction and memory; nothing where there are none. */
export function MemoryOperations({ worker }: { worker: WorkerSummary }): JSX.Element | null {
  const rows = worker.memory_operations ?? [];
  if (rows.length === 0) return null;
  const total = rows.reduce((sum, row) => sum + row.time_ns, 0);
  const calls = rows.reduce((sum, row) => sum + row.count, 0);
  const share = (row: MemoryOperationRow) => (total > 0 ? row.time_ns / total : null);
  const colors = colorsOf(rows, theme.value);
  const data = (): CardData => ({
    columns: [
      { label: "Operation", unit: "text" },
      { label: "Time", unit: "ns", title: DEFINITIONS.memcpyTime },
      { label: "Share", unit: "ratio", title: "Divided by the time of all memory operations." },
      { label: "Count", unit: "count", title: DEFINITIONS.count },
      { label: "Moved", unit: "bytes", title: DEFINITIONS.memcpyBytes },
      { label: "Rate", unit: "bytes_per_s", title: DEFINITIONS.memcpyRate },
    ],
    rows: rows.map((row) => [operationName(row), row.time_ns, share(row), row.count, row.bytes, row.bytes_per_s]),
  });
  return (
    <Card
      title="GPU memory operations"
      definition="Copies and fills on device queues, by direction and by the memory at both ends."
      basis={`${duration(total)} in ${plural(calls, "copy or fill", "copies and fills")}`}
      data={data}
      isTable
      testId="memory-operations"
    >
      {total > 0 && (
        <div class="stack-bar" aria-hidden="true">
          {rows.map((row, i) => (
            <div
              key={i}
              class="stack-part"
              style={{ flexGrow: row.time_ns / total, background: colors[i], color: textOn(colors[i]) }}
              title={`${operationName(row)}: ${percent(share(row))}`}
            >
              {row.time_ns / total > 0.09 && <span>{percent(row.time_ns / total)}</span>}
            </div>
          ))}
        </div>
      )}
      <PlainTable headings={data().columns} testId="memcpy">
        {rows.map((row, i) => (
          <tr key={i}>
            <th scope="row">
              <span class="swatch" style={{ background: colors[i] }} />
              {operationName(row)}
            </th>
            <td class="num" title={exact(row.time_ns)} data-testid="memory-operation-time" data-ns={row.time_ns}>
              {duration(row.time_ns)}
            </td>
            <td class="num">{percent(share(row))}</td>
            <td class="num">{count(row.count)}</td>
            <td
              class="num"
              title={row.bytes === null ? "The trace does not tell their size" : `${count(row.bytes)} bytes`}
            >
              {bytes(row.bytes)}
            </td>
            <td class="num" title={row.bytes_per_s === null ? "Needs the size of the operations" : undefined}>
              {rate(row.bytes_per_s)}
            </td>
          </tr>
        ))}
      </PlainTable>
    </Card>
  );
}
