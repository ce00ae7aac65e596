// Memory of the allocators: the peak, how it came about, and what was alive at it.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { numberingNote } from "../amd";
import type { MemoryRow, WorkerSummary } from "../api";
import { Chart } from "../charts/echarts";
import { memoryOption } from "../charts/memory";
import { DEFINITIONS } from "../definitions";
import { bytes, count, percent } from "../format";
import { theme } from "../state";
import { Card, type CardData } from "../ui/card";
import { PlainTable } from "../ui/plain-table";
import { Toggle } from "../ui/toggle";

const MOST_ROWS = 5;
/** Allocators that have room beside the title. */
const MOST_BUTTONS = 2;

/** The device; with the allocator's own name where a device has several, as the Memory tab has it. */
export function allocatorName(memory: MemoryRow, all: readonly MemoryRow[]): string {
  const device = memory.device === null ? "Host" : `GPU ${memory.device}`;
  const several = all.filter((other) => other.device === memory.device).length > 1;
  return several ? `${device} (${memory.allocator ?? "unnamed"})` : device;
}

/** Nothing where allocations were not recorded. */
export function Memory({ worker }: { worker: WorkerSummary }): JSX.Element | null {
  const rows = worker.memory ?? [];
  const [chosen, choose] = useState(0);
  if (rows.length === 0) return null;
  // The fullest first, devices before the host.
  const order = [...rows].sort(
    (a, b) => Number(a.device === null) - Number(b.device === null) || b.peak_bytes - a.peak_bytes,
  );
  const memory = order[Math.min(chosen, order.length - 1)];
  const total = worker.memory_count ?? rows.length;
  return (
    <Card
      title="Memory"
      definition={DEFINITIONS.memory}
      basis={
        [
          total > rows.length && `The first ${rows.length} of ${count(total)} allocators.`,
          memory.device !== null && numberingNote(worker),
        ]
          .filter(Boolean)
          .join(" ") || false
      }
      data={() => curveData(memory)}
      actions={
        order.length > MOST_BUTTONS ? (
          <label class="field xla-choice">
            <span class="faint">Allocator</span>
            <select value={String(chosen)} onChange={(event) => choose(Number(event.currentTarget.value))}>
              {order.map((row, i) => (
                <option key={i} value={String(i)}>
                  {allocatorName(row, rows)}
                </option>
              ))}
            </select>
          </label>
        ) : (
          order.length > 1 && (
            <Toggle
              label="Allocator"
              value={String(chosen)}
              choices={order.map((row, i) => ({ value: String(i), label: allocatorName(row, rows) }))}
              onChoose={(value) => choose(Number(value))}
            />
          )
        )
      }
      testId="memory-card"
    >
      <Allocator memory={memory} name={allocatorName(memory, rows)} />
    </Card>
  );
}

function curveData({ curve }: MemoryRow): CardData {
  const { ts_ns: ts, allocated, reserved } = curve;
  return {
    columns: [
      { label: "Time", unit: "ns", title: "Since the start of the trace." },
      { label: "Allocated", unit: "bytes", title: DEFINITIONS.memory },
      { label: "Reserved", unit: "bytes", title: DEFINITIONS.memoryReserved },
    ],
    rows: ts.map((t, i) => [t, allocated[i], reserved?.[i] ?? null]),
  };
}

function Allocator({ memory, name }: { memory: MemoryRow; name: string }): JSX.Element {
  const now = theme.value;
  const option = useMemo(() => memoryOption(memory, now), [memory, now]);
  const grown = memory.end_bytes - memory.start_bytes;
  const least = memory.is_absolute ? "" : "≥ ";
  const figures: [string, string, string][] = [
    ["Peak", `${least}${bytes(memory.peak_bytes)}`, DEFINITIONS.memoryPeak],
    ["At the start", `${least}${bytes(memory.start_bytes)}`, DEFINITIONS.memoryStart],
    ["Change to the end", `${grown > 0 ? "+" : ""}${bytes(grown)}`, DEFINITIONS.memoryChange],
    [
      "Allocations",
      count(memory.allocations),
      `${count(memory.allocations)} allocations, ${count(memory.frees)} frees.`,
    ],
  ];
  if (memory.peak_reserved_bytes !== null)
    figures.splice(1, 0, ["Reserved, at most", bytes(memory.peak_reserved_bytes), DEFINITIONS.memoryReserved]);
  return (
    <>
      <dl class="figures">
        {figures.map(([label, value, title]) => (
          <div key={label} title={title}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <Chart option={option} label={`Memory of ${name} over time`} height={120} testId="memory-chart" />
      {memory.at_peak && <AtPeak at={memory.at_peak} peak={memory.peak_bytes} />}
    </>
  );
}

/** Names that are paths (TensorFlow's name scopes) with their end first, which tells them apart. */
function OperatorName({ name }: { name: string }): JSX.Element {
  const at = name.lastIndexOf("/");
  if (at < 0) return <>{name}</>;
  return (
    <>
      {name.slice(at + 1)} <span class="faint">in {name.slice(0, at)}</span>
    </>
  );
}

function AtPeak({ at, peak }: { at: NonNullable<MemoryRow["at_peak"]>; peak: number }): JSX.Element {
  const shown = at.operators.slice(0, MOST_ROWS);
  const rest = peak - at.earlier_bytes - shown.reduce((sum, row) => sum + row.bytes, 0);
  const rows = [
    ...shown.map((row) => ({ name: row.name ?? "no operator", bytes: row.bytes, faint: row.name === null })),
    { name: "allocated before the capture", bytes: at.earlier_bytes, faint: true },
    { name: "everything else", bytes: rest, faint: true },
  ].filter((row) => row.bytes > 0);
  return (
    <PlainTable
      headings={[
        { label: "Alive at the peak, by operator", title: DEFINITIONS.memoryAtPeak },
        { label: "Bytes" },
        { label: "Share", title: "Divided by the peak." },
      ]}
      kind="spaced"
    >
      {rows.map((row, i) => (
        <tr key={i}>
          <th scope="row" class={`clip${row.faint ? " faint" : ""}`} title={row.name}>
            <OperatorName name={row.name} />
          </th>
          <td class="num" title={`${count(row.bytes)} bytes`}>
            {bytes(row.bytes)}
          </td>
          <td class="num">{percent(peak > 0 ? row.bytes / peak : null)}</td>
        </tr>
      ))}
    </PlainTable>
  );
}
