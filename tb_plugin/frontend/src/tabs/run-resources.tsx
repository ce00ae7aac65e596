// The Resources tab of a run as a whole: every metric over all hosts, GPUs or processes, as mean, least and largest.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { unitOf, type Line } from "../charts/time-lines";
import { isLive } from "../data";
import { DEFINITIONS } from "../definitions";
import { plural } from "../format";
import { SERIES_COLORS, type Theme } from "../palette";
import { useRun } from "../run-data";
import { nav, theme } from "../state";
import { getRunResources, type RunResources } from "../time/requests";
import { rangeOf, type TimeView } from "../time/view";
import { Card } from "../ui/card";
import { Await } from "../ui/states";
import type { TimeDesk } from "../ui/time-canvas";
import { TimeLines, TimeToolbar, zoomed } from "../ui/time-parts";
import { RunSampled } from "./resources-interval";
import { isLimit, lineColor, linesData, patchResources, slug } from "./resources-tab";

const COLUMNS = 500;

export function RunResourcesTab(): JSX.Element {
  return (
    <div class="page">
      <RunMonitors />
    </div>
  );
}

/** What the monitors of all workers saw; of one unit, or all of it. */
export function RunMonitors({ only }: { only?: Unit }): JSX.Element {
  const view = nav.value.resources;
  const asked = `${view.span?.start ?? ""} ${view.span?.width ?? ""} ${view.last ?? ""} ${view.host ?? ""}`;
  const found = useRun(asked, async (run, signal) => {
    const whole = await getRunResources(run, view.host, null, view.span || view.last ? 1 : COLUMNS, signal);
    if (!view.span && !view.last) return whole;
    const range = rangeOf(view, whole.origin_ns, { t0: 0, t1: whole.t1 });
    return getRunResources(run, view.host, range, COLUMNS, signal);
  });
  return (
    <Await of={found} what="the resource curves of all workers">
      {(answer) =>
        answer.bands.length === 0 ? (
          <div class="state" data-testid="no-monitor">
            <p class="state-title">No resource monitor ran beside these workers</p>
            <p class="state-detail">The PyTorch hook and the Keras callback start one; imported traces have none.</p>
          </div>
        ) : (
          <Bands view={view} answer={answer} only={only} />
        )
      }
    </Await>
  );
}

type Unit = RunResources["bands"][number]["unit"];

function Bands(props: { view: TimeView; answer: RunResources; only?: Unit }): JSX.Element {
  const { view, answer, only } = props;
  const cursor = useSignal<number | null>(null);
  const all = useMemo(() => ({ t0: 0, t1: answer.t1 }), [answer.t1]);
  const range = useMemo(() => rangeOf(view, answer.origin_ns, all), [view, answer, all]);
  const desk: TimeDesk = {
    range,
    cursor,
    moment: view.moment === null ? null : Number(view.moment - BigInt(answer.origin_ns)),
    ...zoomed(patchResources, answer.origin_ns, all),
  };
  const now = theme.value;
  const groups = useMemo(() => bandGroups(answer, now, only), [answer, now, only]);
  return (
    <>
      <TimeToolbar
        view={view}
        range={range}
        all={all}
        originNs={answer.origin_ns}
        live={isLive.value}
        onView={patchResources}
        onZoom={desk.onZoom}
      >
        {answer.hosts.length > 1 && (
          <label class="field">
            <span class="faint">Host</span>
            <select
              value={view.host ?? ""}
              data-testid="resource-host"
              onChange={(event) => patchResources({ host: event.currentTarget.value || null })}
            >
              <option value="">all {answer.hosts.length}</option>
              {answer.hosts.map((host) => (
                <option key={host} value={host}>
                  {host}
                </option>
              ))}
            </select>
          </label>
        )}
        <span class="faint">{plural(answer.workers, "monitor")}</span>
        <RunSampled />
      </TimeToolbar>
      <div class="time-cards">
        {groups.map(({ name, of, one, lines }) => (
          <Card
            key={name}
            title={name}
            definition={DEFINITIONS.resources[name as keyof typeof DEFINITIONS.resources]}
            basis={one ? undefined : `Mean of ${of}; the band reaches from the least to the largest of them.`}
            data={() => linesData(lines)}
            testId={`band-${slug(name)}`}
          >
            <TimeLines
              desk={desk}
              lines={lines}
              height={90}
              axis
              label={`${name} of ${of} over time`}
              testId={`chart-${slug(name)}`}
            />
          </Card>
        ))}
      </div>
    </>
  );
}

const ONE = { hosts: "host", GPUs: "GPU", processes: "process" } as const;

function bandGroups(
  answer: RunResources,
  now: Theme,
  only?: Unit,
): { name: string; of: string; one: boolean; lines: Line[] }[] {
  const t = answer.edges.slice(1).map((edge, i) => (edge + answer.edges[i]) / 2);
  const groups = new Map<string, { of: Set<string>; lines: Line[] }>();
  for (const band of answer.bands) {
    if (only && band.unit !== only) continue;
    const name = band.group.replace(" (cores)", "");
    const group = groups.get(name) ?? { of: new Set<string>(), lines: [] };
    groups.set(name, group);
    group.of.add(plural(band.members, ONE[band.of], band.of));
    const limit = isLimit(band.id);
    group.lines.push({
      name: band.label,
      color: limit ? SERIES_COLORS[now][6] : lineColor(name, group.lines.length, now),
      unit: unitOf(band.unit, band.group),
      t,
      value: band.mean,
      low: band.min,
      high: band.max,
      limit,
    });
  }
  return [...groups].map(([name, { of, lines }]) => ({
    name,
    of: [...of].join(" and "),
    one: [...of].every((members) => members.startsWith("1 ")),
    lines,
  }));
}
