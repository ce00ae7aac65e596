// Requests of inference: how many, how long they took and what of, and the batches that a model server made of them.

import type { JSX } from "preact";
import type { Inference, Spread } from "../api";
import { DEFINITIONS } from "../definitions";
import { count, digits, duration, exact, percent, plural } from "../format";
import { Card } from "../ui/card";
import { Meter } from "../ui/meter";
import { PlainTable } from "../ui/plain-table";
import { AllInTables } from "./all-in-tables";

type Part = keyof typeof DEFINITIONS.latencyParts;
const PARTS: Record<Part, string> = {
  host_before: "Host, before",
  batch_wait: "Waiting for a batch",
  batch: "Batch on the host",
  to_device: "Copies to the device",
  device: "Device",
  from_device: "Copies from the device",
  host: "Host, between",
  host_after: "Host, after",
};
const labelOf = (part: string) => PARTS[part as Part] ?? part;

const QUANTILES = [
  ["mean", "Mean"],
  ["p50", "Median"],
  ["p90", "p90"],
  ["p99", "p99"],
  ["max", "Longest"],
] as const;
const spreadColumns = QUANTILES.map(([, label]) => ({ label, unit: "ns" }) as const);
const spreadValues = (spread: Spread) => QUANTILES.map(([key]) => spread[key]);

/** What the requests were told by. */
function basisOf({ source, count: n, span_ns }: Inference): string {
  const by =
    source === "annotation" ? "by regions of the code" : source === "batch task" ? "by the queue" : `by ${source}`;
  return `${plural(n, "request")} in ${duration(span_ns)}, ${by}`;
}

/** Nothing where the recording holds no requests. */
export function Requests({ data }: { data: Inference | null }): JSX.Element | null {
  if (!data) return null;
  const parts = (data.parts ?? []).filter((part) => part.mean_ns > 0);
  const isPart = data.deep < data.count;
  return (
    <Card
      title="Requests"
      definition={DEFINITIONS.requests}
      basis={basisOf(data)}
      actions={<AllInTables table="requests" by="none" />}
      data={() => ({
        columns: [
          { label: "Of the requests", unit: "text" },
          ...spreadColumns,
          { label: "Share", unit: "share" },
          { label: "Mean of the slowest tenth", unit: "ns" },
          { label: "Requests", unit: "count" },
          { label: "Requests/s", unit: "number" },
          { label: "In flight", unit: "number" },
          { label: "Ended before their device work", unit: "count" },
        ],
        rows: [
          [
            "Latency",
            ...spreadValues(data.latency_ns),
            null,
            null,
            data.count,
            data.requests_per_s,
            data.in_flight,
            data.late,
          ],
          ...(data.parts ?? []).map((part) => [
            labelOf(part.part),
            ...QUANTILES.map(([key]) => (key === "mean" ? part.mean_ns : null)),
            part.share,
            part.slowest_mean_ns,
            data.deep,
            null,
            null,
            null,
          ]),
        ],
      })}
      isTable
      testId="requests"
    >
      <dl class="figures">
        <Figure
          label="Requests/s"
          title={DEFINITIONS.requestsPerSecond}
          value={data.requests_per_s}
          testId="requests-per-s"
        />
        <Figure label="In flight" title={DEFINITIONS.inFlight} value={data.in_flight} testId="in-flight" />
        {data.late > 0 && (
          <div title={DEFINITIONS.requestsLate}>
            <dt>Ended before their device work</dt>
            <dd>{count(data.late)}</dd>
          </div>
        )}
      </dl>
      <Spreads rows={[["Latency", DEFINITIONS.latency, data.latency_ns, "latency"]]} />
      {parts.length > 0 && (
        <PlainTable
          headings={[
            { label: isPart ? `Of ${plural(data.deep, "request")} in deep windows` : "What it consists of" },
            { label: "Mean", title: DEFINITIONS.latencyMean },
            { label: "Share", title: DEFINITIONS.latencyShare },
            { label: "Slowest tenth", title: DEFINITIONS.latencySlowest },
          ]}
          kind="spaced"
          testId="latency-parts"
        >
          {parts.map(({ part, mean_ns, share, slowest_mean_ns }) => (
            <tr key={part} title={DEFINITIONS.latencyParts[part as Part]}>
              <th scope="row">{labelOf(part)}</th>
              <td class="num" title={exact(mean_ns)} data-testid={`part-${part}`} data-ns={mean_ns}>
                {duration(mean_ns)}
              </td>
              <td class="num">
                <Meter ratio={share} />
              </td>
              <td class="num" title={exact(slowest_mean_ns)}>
                {duration(slowest_mean_ns)}
              </td>
            </tr>
          ))}
        </PlainTable>
      )}
    </Card>
  );
}

/** Nothing where no batch is in the capture. */
export function Batches({ data }: { data: Inference | null }): JSX.Element | null {
  const batches = data?.batches;
  if (!batches) return null;
  const spreads: [string, string, Spread, string][] = [
    ["Duration", DEFINITIONS.batchDuration, batches.duration_ns, "batch-duration"],
  ];
  if (batches.wait_ns) spreads.push(["Wait of a task", DEFINITIONS.batchWait, batches.wait_ns, "batch-wait"]);
  return (
    <Card
      title="Batches"
      definition={DEFINITIONS.batches}
      basis={plural(batches.count, "batch", "batches")}
      actions={<AllInTables table="batches" by="none" />}
      data={() => ({
        columns: [
          { label: "Of the batches", unit: "text" },
          ...spreadColumns,
          { label: "Batches", unit: "count" },
          { label: "Batches/s", unit: "number" },
          { label: "Requests each", unit: "number" },
          { label: "Items each", unit: "number" },
          { label: "With padding", unit: "number" },
          { label: "Padding", unit: "share" },
          { label: "Device time", unit: "ns" },
        ],
        rows: spreads.map(([label, , spread], i) => [
          label,
          ...spreadValues(spread),
          ...(i === 0 ? batchFigures(batches) : Array<null>(7).fill(null)),
        ]),
      })}
      isTable
      testId="batches"
    >
      <dl class="figures">
        <Figure
          label="Batches/s"
          title={DEFINITIONS.requestsPerSecond}
          value={batches.batches_per_s}
          testId="batches-per-s"
        />
        <Figure label="Requests each" title={DEFINITIONS.batchTasks} value={batches.tasks_mean} testId="batch-tasks" />
        <Figure label="Items each" title={DEFINITIONS.batchItems} value={batches.size_mean} testId="batch-size" />
        <Figure label="With padding" title={DEFINITIONS.batchItems} value={batches.padded_mean} testId="batch-padded" />
        {batches.padding_ratio !== null && (
          <div title={DEFINITIONS.batchPadding}>
            <dt>Padding</dt>
            <dd data-testid="batch-padding" data-value={batches.padding_ratio}>
              {percent(batches.padding_ratio)}
            </dd>
          </div>
        )}
        {batches.device_ns !== null && (
          <div title={DEFINITIONS.batchDevice}>
            <dt>Device time</dt>
            <dd data-testid="batch-device" data-value={batches.device_ns}>
              {duration(batches.device_ns)}
            </dd>
          </div>
        )}
      </dl>
      <Spreads rows={spreads} />
    </Card>
  );
}

/** What the card tells of all batches, for the first line of its file. */
const batchFigures = (batches: NonNullable<Inference["batches"]>) => [
  batches.count,
  batches.batches_per_s,
  batches.tasks_mean,
  batches.size_mean,
  batches.padded_mean,
  batches.padding_ratio,
  batches.device_ns,
];

/** A number of the card; nothing where it is not told. */
function Figure(props: { label: string; title: string; value: number | null; testId: string }): JSX.Element | null {
  const { label, title, value, testId } = props;
  if (value === null) return null;
  return (
    <div title={title}>
      <dt>{label}</dt>
      <dd data-testid={testId} data-value={value}>
        {digits(value)}
      </dd>
    </div>
  );
}

/** Means and percentiles, a line each: its name, definition, values, and the beginning of the test ids. */
function Spreads({ rows }: { rows: readonly [string, string, Spread, string][] }): JSX.Element {
  return (
    <PlainTable headings={[{ label: <span class="sr-only">What</span> }, ...spreadColumns]} kind="spaced">
      {rows.map(([label, title, spread, id]) => (
        <tr key={id} title={title}>
          <th scope="row">{label}</th>
          {QUANTILES.map(([key]) => (
            <td key={key} class="num" title={exact(spread[key])} data-testid={`${id}-${key}`} data-ns={spread[key]}>
              {duration(spread[key])}
            </td>
          ))}
        </tr>
      ))}
    </PlainTable>
  );
}
