// What went between host and devices: memory copies and kernel launches.

import type { JSX } from "preact";
import type { Launches, LaunchTimes, MemcpyRow } from "../api";
import { DEFINITIONS } from "../definitions";
import { bytes, count, duration, exact, plural, rate } from "../format";

const DIRECTIONS: Record<string, string> = {
  HtoD: "Host to device",
  DtoH: "Device to host",
  DtoD: "Device to device",
  PtoP: "Peer to peer",
  HtoH: "Host to host",
};

/** Nothing where nothing was copied. */
export function Copies({ memcpy }: { memcpy: Record<string, MemcpyRow> | null }): JSX.Element | null {
  if (!memcpy || Object.keys(memcpy).length === 0) return null;
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
              <td
                class="num"
                title={
                  row.bytes === null ? "The trace does not tell the size of its copies" : `${count(row.bytes)} bytes`
                }
              >
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
    <section class="card">
      <h2>Kernel launches</h2>
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
        <table class="plain spaced" data-testid="launch-latency">
          <thead>
            <tr>
              <th scope="col" title={DEFINITIONS.launchLinked}>
                Of {plural(launches.linked, "launch with a run", "launches with a run")}
              </th>
              <th scope="col" class="num">
                Median
              </th>
              <th scope="col" class="num">
                p90
              </th>
              <th scope="col" class="num">
                p99
              </th>
              <th scope="col" class="num">
                Longest
              </th>
            </tr>
          </thead>
          <tbody>
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
          </tbody>
        </table>
      )}
    </section>
  );
}
