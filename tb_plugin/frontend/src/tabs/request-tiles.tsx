// The large numbers of a run that serves requests.

import type { JSX } from "preact";
import type { Inference } from "../api";
import { DEFINITIONS } from "../definitions";
import { count, DASH, digits, duration, exact, plural } from "../format";
import { Tile } from "./tile";

export function RequestTiles({ data }: { data: Inference }): JSX.Element {
  const { latency_ns: latency, requests_per_s: rate, in_flight: inFlight } = data;
  return (
    <>
      <Tile
        label="Latency, median"
        value={duration(latency.p50)}
        raw={latency.p50}
        note={(["p90", "p99"] as const).map((q) => (
          <span key={q} class="quantile">
            {q} {duration(latency[q])}
          </span>
        ))}
        hint={`${DEFINITIONS.latency}\nExactly ${exact(latency.p50)}, over ${plural(data.count, "request")}.`}
        testId="tile-latency"
      />
      <Tile
        label="Requests"
        value={count(data.count)}
        raw={data.count}
        note={`in ${duration(data.span_ns)}`}
        hint={DEFINITIONS.requests}
        testId="tile-requests"
      />
      <Tile
        label="Requests/s"
        value={rate === null ? DASH : digits(rate)}
        raw={rate}
        note={inFlight === null ? undefined : `${digits(inFlight)} in flight`}
        hint={`${DEFINITIONS.requestsPerSecond}\nIn flight: ${DEFINITIONS.inFlight}`}
        testId="tile-requests-per-s"
      />
    </>
  );
}
