// The Resources tab: what the monitor saw of the host and its GPUs, on one axis of time with the steps and phases.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Series } from "../api";
import { unitOf, type Line } from "../charts/time-lines";
import { isLive, shown } from "../data";
import { DEFINITIONS } from "../definitions";
import { GPU_COLOR, SERIES_COLORS, type Theme } from "../palette";
import { adjust, nav, openWorker, theme } from "../state";
import { getCurves, getStrips, type ResourceCurves } from "../time/requests";
import { rangeOf, type TimeView } from "../time/view";
import { Card, type CardData } from "../ui/card";
import { useFetched } from "../ui/fetched";
import { Await } from "../ui/states";
import type { TimeDesk } from "../ui/time-canvas";
import { Strips, stripsData, TimeLines, TimeToolbar, zoomed } from "../ui/time-parts";
import { ResourceNumbers } from "./resource-numbers";
import { CoreMapCard } from "./resources-cores";
import { Sampled } from "./resources-interval";

export const POINTS = 900;
const HEIGHT = 100;

export const patchResources = (patch: Partial<TimeView>) =>
  adjust({ resources: { ...nav.peek().resources, ...patch } });

export function ResourcesTab(): JSX.Element {
  const view = nav.value.resources;
  // The interval that is asked for: of a view that follows the newest data, all of it until the extent is known.
  const asked = `${view.span?.start ?? ""} ${view.span?.width ?? ""} ${view.last ?? ""}`;
  const found = useFetched(`curves ${asked}`, async (key, signal) => {
    const whole = await getCurves(key, null, view.span || view.last ? 1 : POINTS, signal);
    if (!view.span && !view.last) return whole;
    return getCurves(key, rangeOf(view, whole.origin_ns, whole), POINTS, signal);
  });
  return (
    <div class="page">
      <Await of={found} what="the resource curves">
        {(answer) => (answer.series.length === 0 ? <NoMonitor /> : <Curves view={view} answer={answer} />)}
      </Await>
    </div>
  );
}

function NoMonitor(): JSX.Element {
  const { run, worker } = shown.value;
  // One monitor a host is enough: the worker of the lowest rank there has it.
  const beside = (run?.workers ?? []).filter((one) => one.host !== null && one.host === worker?.host);
  const first = beside.reduce((low, one) => ((one.rank ?? Infinity) < (low.rank ?? Infinity) ? one : low), beside[0]);
  if (run && worker && first && first.id !== worker.id) {
    return (
      <div class="state" data-testid="no-monitor">
        <p class="state-title">The monitor of this host runs beside another worker</p>
        <p class="state-detail">
          One for each host is enough.{" "}
          <button type="button" class="inline-link" onClick={() => openWorker(run.id, first.id)}>
            Show the resources of rank {first.rank ?? first.id}
          </button>
        </p>
      </div>
    );
  }
  return (
    <div class="state" data-testid="no-monitor">
      <p class="state-title">No resource monitor ran beside this worker</p>
      <p class="state-detail">
        The PyTorch hook and the Keras callback start one by themselves; <code>monitor_interval_ms=500</code> sets how
        often it samples. An imported trace has none.
      </p>
    </div>
  );
}

function Curves({ view, answer }: { view: TimeView; answer: ResourceCurves }): JSX.Element {
  const cursor = useSignal<number | null>(null);
  const range = useMemo(() => rangeOf(view, answer.origin_ns, answer), [view, answer]);
  const strips = useFetched(`strips ${range.t0} ${range.t1}`, (key, signal) => getStrips(key, range, POINTS, signal));
  const originNs = answer.origin_ns;
  const desk: TimeDesk = {
    range,
    cursor,
    moment: view.moment === null ? null : Number(view.moment - BigInt(originNs)),
    ...zoomed(patchResources, originNs, answer),
  };
  const now = theme.value;
  const groups = useMemo(() => groupsOf(answer.series, now), [answer, now]);
  return (
    <>
      <TimeToolbar
        view={view}
        range={range}
        all={answer}
        originNs={originNs}
        live={isLive.value}
        onView={patchResources}
        onZoom={desk.onZoom}
        chosen={{ desk, strips: strips.value, room: (answer.interval_ms ?? 500) * 1e6 }}
      >
        <Sampled key={shown.value.worker?.id} answer={answer} />
      </TimeToolbar>
      <div class="time-cards">
        {strips.value && strips.value.steps.start.length > 0 && (
          <Card
            title="Steps and phases"
            definition={DEFINITIONS.strips}
            data={() => stripsData(strips.value!)}
            testId="resource-steps"
          >
            <Strips desk={desk} strips={strips.value} />
          </Card>
        )}
        {groups.map((group) => (
          <Card
            key={group.name}
            title={group.name}
            definition={DEFINITIONS.resources[group.name as keyof typeof DEFINITIONS.resources]}
            data={() => linesData(group.lines)}
            testId={`resource-${slug(group.name)}`}
          >
            <TimeLines
              desk={desk}
              lines={group.lines}
              height={HEIGHT}
              axis
              label={`${group.name} over time`}
              testId={`chart-${slug(group.name)}`}
            />
          </Card>
        ))}
        <CoreMapCard desk={desk} />
        <ResourceNumbers />
      </div>
    </>
  );
}

export const slug = (name: string) => name.toLowerCase().replace(/[^a-z]+/g, "-");

export interface Group {
  name: string;
  lines: Line[];
}

/** Series with common axes, in the order in which the server tells them. */
export function groupsOf(series: readonly Series[], now: Theme): Group[] {
  const groups = new Map<string, Line[]>();
  for (const one of series) {
    const name = one.group.replace(" (cores)", "");
    const lines = groups.get(name) ?? [];
    groups.set(name, lines);
    const limit = isLimit(one.id);
    lines.push({
      name: one.label,
      color: limit ? SERIES_COLORS[now][6] : lineColor(name, lines.length, now),
      unit: unitOf(one.unit, one.group),
      t: one.t,
      value: one.mean,
      low: one.min,
      high: one.max,
      limit,
    });
  }
  return [...groups].map(([name, lines]) => ({ name, lines: withOneLimit(lines) }));
}

/** GPUs have the colours that the Summary gives them; eight are told apart. */
export function lineColor(group: string, place: number, now: Theme): string {
  const colors = SERIES_COLORS[now];
  return group.startsWith("GPU") ? colors[(place + GPU_COLOR) % colors.length] : colors[place % 6];
}

/** The same limit of every GPU is one line. */
function withOneLimit(lines: readonly Line[]): Line[] {
  const limits = lines.filter((line) => line.limit);
  const values = new Set(limits.flatMap((line) => line.value.filter((value) => value !== null)));
  if (limits.length < 2 || values.size !== 1) return [...lines];
  return [...lines.filter((line) => !line.limit), { ...limits[0], name: "Total of each" }];
}

export const isLimit = (id: string) => /(_total|_limit)(\.|$)/.test(id);

/** The points of lines as a table. */
export function linesData(lines: readonly Line[]): CardData {
  const of = lines[0]?.unit ?? "number";
  const unit = of === "cores" || of === "per_s" ? "number" : of;
  const each = of === "per_s" ? " a second" : of === "cores" ? ", cores" : "";
  return {
    columns: [
      { label: "Of", unit: "text" },
      { label: "Time", unit: "ns", title: "Since the beginning of the timeline." },
      { label: `Mean${each}`, unit, title: "Of the samples that the point stands for." },
      { label: `Lowest${each}`, unit },
      { label: `Highest${each}`, unit },
    ],
    rows: lines.flatMap((line) =>
      line.t.map((t, i) => [line.name, t, line.value[i], line.low?.[i] ?? null, line.high?.[i] ?? null]),
    ),
  };
}
