// Hardware counters that a file carries: by counter, and those of a range profiler by kernel and by operator.

import { Fragment, type JSX } from "preact";
import { useState } from "preact/hooks";
import type { CountedRanges, DeviceCounter, DeviceCounters } from "../api";
import { DEFINITIONS } from "../definitions";
import { bytes, count, digits, duration, rate } from "../format";
import { Card, type CardData } from "../ui/card";
import { FirstOf, PlainTable } from "../ui/plain-table";
import { Toggle } from "../ui/toggle";
import { scaled } from "./device-units";

type View = "counters" | "kernels" | "operators";
const MOST_ROWS = 20;

/** A counter's value in what its name tells that it counts. */
function shown(value: number | null, unit: string | null): string {
  if (value === null) return "—";
  if (unit === "bytes") return bytes(value);
  if (unit === "bytes_per_s") return rate(value);
  if (unit === "ns") return duration(value);
  return unit === "percent" ? `${digits(value)} %` : scaled(value);
}

/** Nothing where the file has none. */
export function HardwareCounters({ data }: { data: DeviceCounters | null }): JSX.Element | null {
  const [wanted, choose] = useState<View>("counters");
  if (!data || data.counters.length === 0) return null;
  const why = data.operators_why ?? "No range of a range profiler is in the file.";
  const view = data[wanted].length > 0 ? wanted : "counters";
  const total = { counters: data.counter_count, kernels: data.kernel_count, operators: data.operator_count }[view];
  const rows = data[view];
  return (
    <Card
      title="Hardware counters"
      definition={DEFINITIONS.hardwareCounters}
      data={() => (view === "counters" ? countersData(data.counters) : rangesData(data[view], data.counters))}
      isTable
      testId="counters-card"
      actions={
        <Toggle
          label="Counters by"
          value={view}
          choices={[
            { value: "counters", label: "Counters" },
            { value: "kernels", label: "By kernel", off: data.kernels.length === 0 && why },
            { value: "operators", label: "By operator", off: data.operators.length === 0 && why },
          ]}
          onChoose={(value) => choose(value as View)}
        />
      }
    >
      {view === "counters" ? (
        <Counters rows={data.counters.slice(0, MOST_ROWS)} />
      ) : (
        <Ranges rows={data[view].slice(0, MOST_ROWS)} counters={data.counters} of={view} />
      )}
      <FirstOf shown={Math.min(rows.length, MOST_ROWS)} saved={rows.length} total={total} />
    </Card>
  );
}

const FROM: Record<string, string> = {
  range: "One a kernel or region.",
  sample: "Samples that were taken while all ran.",
  value: "Values that the runtime read.",
};

function Counters({ rows }: { rows: readonly DeviceCounter[] }): JSX.Element {
  const several = new Set(rows.map((row) => row.device)).size > 1;
  const numbers: [string, (row: DeviceCounter) => number | null, string][] = [
    ["Sum", (row) => row.sum, "Of all values; shares, rates and means do not add up."],
    ["Mean", (row) => row.mean, "Of the values."],
    ["Smallest", (row) => row.min, "The smallest value."],
    ["Largest", (row) => row.max, "The largest value."],
  ];
  return (
    <PlainTable
      headings={[
        ...(several ? [{ label: "Device" }] : []),
        { label: "Counter", isText: true },
        ...numbers.map(([label, , title]) => ({ label, title })),
        { label: "Values" },
      ]}
      kind="spaced counters"
      testId="counters"
    >
      {rows.map((row) => (
        <tr key={`${row.device} ${row.counter}`}>
          {several && <td>{row.device}</td>}
          <th scope="row" title={row.description ?? row.counter}>
            <Breaking name={row.label ?? row.counter} />
            {row.unit && row.unit !== "percent" && <span class="faint"> {row.unit.replace("_per_s", "/s")}</span>}
          </th>
          {numbers.map(([label, value]) => (
            <td key={label} class="num" data-value={value(row) ?? undefined} title={exactly(value(row))}>
              {shown(value(row), row.unit)}
            </td>
          ))}
          <td class="num" title={FROM[row.source]}>
            {count(row.samples)}
          </td>
        </tr>
      ))}
    </PlainTable>
  );
}

/** A name that goes on in the next line behind a "_" rather than amid a word. */
const Breaking = ({ name }: { name: string }): JSX.Element => (
  <>
    {name.split(/(?<=_)/).map((part, i) => (
      <Fragment key={i}>
        {part}
        <wbr />
      </Fragment>
    ))}
  </>
);

const exactly = (value: number | null | undefined) =>
  value == null ? "Values of this counter do not add up" : value.toLocaleString("en-US");

/** Counters that counted anything in any of the ranges. */
const telling = (rows: readonly CountedRanges[], counters: readonly DeviceCounter[]) =>
  [...new Map(counters.map((counter) => [counter.counter, counter])).values()].filter(({ counter }) =>
    rows.some((row) => row.values[counter]),
  );

function Ranges(props: { rows: readonly CountedRanges[]; counters: readonly DeviceCounter[]; of: View }): JSX.Element {
  const { rows, of } = props;
  const columns = telling(rows, props.counters);
  return (
    <PlainTable
      headings={[
        { label: of === "kernels" ? "Kernel" : "Operator" },
        { label: "Ranges", title: "Runs that were counted." },
        ...columns.map(({ counter, label }) => ({ label: label ?? counter, title: counter })),
      ]}
      kind="spaced ranges"
      testId={`counters-${of}`}
    >
      {rows.map((row) => (
        <tr key={row.name}>
          <th scope="row" class="name" title={row.name}>
            <bdi>{row.name}</bdi>
          </th>
          <td class="num">{count(row.ranges)}</td>
          {columns.map(({ counter, unit }) => (
            <td key={counter} class="num" data-value={row.values[counter]} title={exactly(row.values[counter])}>
              {shown(row.values[counter] ?? null, unit)}
            </td>
          ))}
        </tr>
      ))}
    </PlainTable>
  );
}

function countersData(rows: readonly DeviceCounter[]): CardData {
  return {
    columns: [
      { label: "Device", unit: "id" },
      { label: "Counter", unit: "text" },
      { label: "Name", unit: "text" },
      { label: "Description", unit: "text" },
      { label: "Unit", unit: "text" },
      { label: "Source", unit: "text" },
      { label: "Values", unit: "count" },
      { label: "Sum", unit: "number" },
      { label: "Mean", unit: "number" },
      { label: "Smallest", unit: "number" },
      { label: "Largest", unit: "number" },
    ],
    rows: rows.map((row) => [
      row.device,
      row.counter,
      row.label,
      row.description,
      row.unit,
      row.source,
      row.samples,
      row.sum,
      row.mean,
      row.min,
      row.max,
    ]),
  };
}

function rangesData(rows: readonly CountedRanges[], counters: readonly DeviceCounter[]): CardData {
  const names = [...new Set(counters.map((counter) => counter.counter))];
  return {
    columns: [
      { label: "Name", unit: "text" },
      { label: "Ranges", unit: "count" },
      ...names.map((name) => ({ label: name, unit: "number" as const })),
    ],
    rows: rows.map((row) => [row.name, row.ranges, ...names.map((name) => row.values[name] ?? null)]),
  };
}
