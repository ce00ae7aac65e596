// What went between host and devices: memory copies and kernel launches.

import type { JSX } from "preact";
import type { Launches, MemcpyRow, WorkerSummary } from "../api";
import { DEFINITIONS } from "../definitions";
import { bytes, count, DASH, duration, exact, rate } from "../format";

/** Memory copies and launches, side by side; nothing where no device was used. */
export function DeviceTraffic({ worker }: { worker: WorkerSummary }): JSX.Element | null {
  const hasCopies = worker.memcpy && Object.keys(worker.memcpy).length > 0;
  const hasLaunches = worker.launches && worker.launches.count > 0;
  if (!hasCopies && !hasLaunches) return null;
  return (
    <div class="columns">
      {hasCopies && <Copies memcpy={worker.memcpy!} />}
      {hasLaunches && <Launching launches={worker.launches!} />}
    </div>
  );
}

const DIRECTIONS: Record<string, string> = {
  HtoD: "Host to device",
  DtoH: "Device to host",
  DtoD: "Device to device",
  PtoP: "Peer to peer",
  HtoH: "Host to host",
};

function Copies({ memcpy }: { memcpy: Record<string, MemcpyRow> }): JSX.Element {
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

function Launching({ launches }: { launches: Launches }): JSX.Element {
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
    cells.push([
      "Runs without launch",
      count(launches.runs_without_launch),
      "Device work whose launch call is not in the capture.",
    ]);
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
