// Memory as the resource monitor saw it, over the whole run: of the process, the host, the container and each GPU.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { DEFINITIONS } from "../definitions";
import { duration } from "../format";
import { nav, navigate, theme } from "../state";
import { getCurves, type ResourceCurves } from "../time/requests";
import { Card } from "../ui/card";
import { useFetched } from "../ui/fetched";
import type { TimeDesk } from "../ui/time-canvas";
import { TimeLines } from "../ui/time-parts";
import { groupsOf, linesData, slug } from "./resources-tab";

const POINTS = 600;

/** Nothing where no monitor ran. */
export function MonitorMemory(): JSX.Element | null {
  const found = useFetched("monitor", (key, signal) => getCurves(key, null, POINTS, signal));
  return found.value && found.value.series.length > 0 ? <Curves answer={found.value} /> : null;
}

function Curves({ answer }: { answer: ResourceCurves }): JSX.Element {
  const cursor = useSignal<number | null>(null);
  const now = theme.value;
  const groups = useMemo(
    () =>
      groupsOf(
        answer.series.filter((one) => one.unit === "bytes"),
        now,
      ),
    [answer, now],
  );
  const open = (patch: { moment: bigint | null }) =>
    navigate({ tab: "resources", resources: { ...nav.peek().resources, ...patch } });
  const desk: TimeDesk = {
    range: { t0: answer.t0, t1: Math.max(answer.t1, answer.t0 + 1) },
    cursor,
    moment: null,
    onZoom: () => undefined,
    onPick: (t) => t !== null && open({ moment: BigInt(answer.origin_ns) + BigInt(Math.round(t)) }),
  };
  return (
    <div class="time-cards">
      {groups.map(({ name, lines }) => (
        <Card
          key={name}
          title={`${name} over the whole run`}
          definition={DEFINITIONS.resources[name as keyof typeof DEFINITIONS.resources]}
          basis={
            <>
              From the resource monitor{answer.interval_ms ? `, every ${duration(answer.interval_ms * 1e6)}` : ""}.
              <span class="no-picture"> A click opens the moment in Resources.</span>
            </>
          }
          data={() => linesData(lines)}
          testId={`monitor-${slug(name)}`}
        >
          <TimeLines
            desk={desk}
            lines={lines}
            height={120}
            axis
            label={`${name} over the whole run`}
            testId={`chart-monitor-${slug(name)}`}
          />
        </Card>
      ))}
    </div>
  );
}
