// Kernel launches: how many, and how long they waited for what.

import type { JSX } from "preact";
import type { Launches, LaunchTimes } from "../api";
import { DEFINITIONS } from "../definitions";
import { count, duration, exact, plural } from "../format";
import { Card } from "../ui/card";
import { PlainTable } from "../ui/plain-table";

/** Nothing where nothing was launched. */
export function Launching({ launches }: { launches: Launches | null }): JSX.Element | null {
  if (!launches || launches.count === 0) return null;
  const times: [string, string, LaunchTimes | null][] = [
    ["Latency", DEFINITIONS.launchLatency, launches.latency_ns],
    ["of it, queue wait", DEFINITIONS.launchQueue, launches.queue_wait_ns],
    ["of it, overhead", DEFINITIONS.launchOverhead, launches.overhead_ns],
  ];
  const counts: [string, number | null, string][] = [
    ["Launches", launches.count, DEFINITIONS.launches],
    ["Shorter than the call", launches.short_kernels, DEFINITIONS.launchShort],
    ["Without a device run", launches.without_run, "Launches whose device run is not in the capture."],
    ["Runs without launch", launches.runs_without_launch, "Device work whose launch call is not in the capture."],
    ["Latency below 0", launches.negative, DEFINITIONS.launchNegative],
  ];
  const quantiles = ["p50", "p90", "p99", "max"] as const;
  return (
    <Card
      title="Launch latency"
      data={() => ({
        columns: [
          { label: "Of linked launches", unit: "text" },
          { label: "Median", unit: "ns" },
          { label: "p90", unit: "ns" },
          { label: "p99", unit: "ns" },
          { label: "Longest", unit: "ns" },
        ],
        rows: times.map(([label, , row]) => [label, ...quantiles.map((q) => row?.[q] ?? null)]),
      })}
      isTable
    >
      <dl class="figures" data-testid="launches">
        {counts
          .filter(([, n], i) => i === 0 || (n ?? 0) > 0)
          .map(([label, n, title]) => (
            <div key={label} title={title}>
              <dt>{label}</dt>
              <dd>{count(n)}</dd>
            </div>
          ))}
      </dl>
      {launches.latency_ns && (
        <PlainTable
          headings={[
            {
              label: `Of ${plural(launches.linked, "launch with a run", "launches with a run")}`,
              title: DEFINITIONS.launchLinked,
            },
            ...["Median", "p90", "p99", "Longest"].map((label) => ({ label })),
          ]}
          kind="spaced"
          testId="launch-latency"
        >
          {times.map(([label, title, row]) => (
            <tr key={label} title={title}>
              <th scope="row">{label}</th>
              {quantiles.map((q) => (
                <td key={q} class="num" title={exact(row?.[q])}>
                  {duration(row?.[q])}
                </td>
              ))}
            </tr>
          ))}
        </PlainTable>
      )}
    </Card>
  );
}
