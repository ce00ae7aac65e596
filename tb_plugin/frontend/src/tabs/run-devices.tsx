// The device time of each worker of a run: computing, communicating or both, copying, idle.

import type { JSX } from "preact";
import { DEFINITIONS } from "../definitions";
import { duration, exact, percent, plural } from "../format";
import { ACTIVITY_COLORS, type Theme } from "../palette";
import { rankName, type RunSummary } from "../run";
import { openWorker, theme } from "../state";
import { isolated } from "../timeline/text";
import { Card, type CardData } from "../ui/card";

const MOST_BARS = 24;

type PartKey = "computation" | "overlapped" | "communication" | "copies" | "idle";

function partsOf(now: Theme): [key: PartKey, label: string, title: string, color: string][] {
  const colors = ACTIVITY_COLORS[now];
  return [
    ["computation", "Computation", "Compute kernels ran, and no collective.", colors.kernel],
    ["overlapped", "Both", "Collectives ran beside compute kernels.", colors.runtime],
    ["communication", "Communication", DEFINITIONS.exposed, colors.communication],
    ["copies", "Copies, fills", "Copies or fills ran, and no kernel.", colors.memcpy],
    ["idle", "Idle", "Nothing ran on any device of the worker.", colors.other],
  ];
}

/** Nothing where no deep window of any worker saw a device. */
export function RunDevices({ run }: { run: RunSummary }): JSX.Element | null {
  const { device_time: time, ranks } = run;
  const order = time.worker.map((_, i) => i);
  if (order.length === 0) return null;
  const share = (i: number, key: PartKey) => time[key][i] / Math.max(time.total[i], 1);
  // Of many workers those that compute least: there is something to gain.
  if (order.length > MOST_BARS) order.sort((a, b) => share(a, "computation") - share(b, "computation") || a - b);
  const shown = order.slice(0, MOST_BARS);
  const parts = partsOf(theme.value);
  return (
    <Card
      title="Device time of the workers"
      definition="From the first to the last device event of the deep windows, a union over the devices of a worker. The parts sum to it."
      basis={
        shown.length < order.length
          ? `The ${shown.length} of ${plural(order.length, "worker")} that compute least; the menu has all.`
          : `Deep windows of ${plural(order.length, "worker")}.`
      }
      actions={
        <ul class="inline-legend" aria-label="Colours">
          {parts.map(([key, label, title, color]) => (
            <li key={key} title={title}>
              <span class="swatch" style={{ background: color }} />
              {label}
            </li>
          ))}
        </ul>
      }
      data={() => numbers(run, order)}
      testId="run-devices"
      wide
    >
      <ul class="slowest-bars divided">
        {shown.map((i) => {
          const who = rankName(ranks, time.worker[i]);
          const told = parts.map(([key, label]) => `${label}: ${exact(time[key][i])}, ${percent(share(i, key))}`);
          return (
            <li key={time.worker[i]}>
              <button
                type="button"
                title={[isolated(who), ...told, "Click to open this worker"].join("\n")}
                onClick={() => openWorker(run.run, ranks.worker[time.worker[i]])}
              >
                <span class="bar-name">
                  <bdi>{who}</bdi>
                </span>
                <span class="bar-track bar-parts">
                  {parts.map(([key, , , color]) => (
                    <span key={key} style={{ width: `${100 * share(i, key)}%`, background: color }} />
                  ))}
                </span>
                <span class="bar-value">
                  {duration(time.total[i])} <span class="faint">{percent(share(i, "idle"))} idle</span>
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}

function numbers({ device_time: time, ranks }: RunSummary, order: readonly number[]): CardData {
  const parts = partsOf("light");
  return {
    columns: [
      { label: "Worker", unit: "text" },
      { label: "Rank", unit: "id" },
      { label: "Device time", unit: "ns" },
      ...parts.map(([, label, title]) => ({ label, title, unit: "ns" as const })),
    ],
    rows: order.map((i) => [
      ranks.worker[time.worker[i]],
      ranks.rank[time.worker[i]],
      time.total[i],
      ...parts.map(([key]) => time[key][i]),
    ]),
  };
}
