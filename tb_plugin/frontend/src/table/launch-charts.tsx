// Launches over time: the latency of each, and the work that waits on each queue.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { axis, baseOption, Chart, CHART_COLORS, tooltipOption, type Option } from "../charts/echarts";
import { DEFINITIONS } from "../definitions";
import { axisDuration, count, duration, percent, plural } from "../format";
import { SERIES_COLORS, type Theme } from "../palette";
import { theme } from "../state";
import { Card, type CardData } from "../ui/card";
import { useFetched } from "../ui/fetched";
import { Await } from "../ui/states";
import { openSlice } from "./open-slice";
import { getLaunches, type LaunchesAnswer } from "./requests";

const DEPTH =
  "Linked work of a queue that was launched and has not started, from the end of its launch call to its start. 0 while the GPU idles: the host is late.";

export function LaunchCharts(): JSX.Element {
  const found = useFetched("launches", getLaunches);
  return (
    <div class="launch-charts">
      <Await of={found} what="the charts of the launches">
        {(answer) => <Both answer={answer} />}
      </Await>
    </div>
  );
}

function Both({ answer }: { answer: LaunchesAnswer }): JSX.Element {
  const { launches, queues } = answer;
  const latency = useMemo(() => latencyOption(answer, theme.value), [answer, theme.value]);
  const depth = useMemo(() => depthOption(answer, theme.value), [answer, theme.value]);
  /** The nearest point, both axes as they are drawn. */
  const openNearest = (x: number, y: number) => {
    const width = Math.max(1, launches.t[launches.t.length - 1] - launches.t[0]);
    const height = Math.max(1, ...launches.latency);
    let best = -1;
    let least = Infinity;
    launches.t.forEach((t, i) => {
      const far = ((t - x) / width) ** 2 * 9 + ((launches.latency[i] - y) / height) ** 2;
      if (far < least) [least, best] = [far, i];
    });
    if (best >= 0) openSlice(answer.origin_ns, { row: launches.row[best], start: launches.t[best], dur: 5000 });
  };
  return (
    <>
      <Card
        title="Launch latency over time"
        definition={DEFINITIONS.launchLatency}
        testId="launch-latency"
        data={launches.count > 0 ? () => latencyData(answer) : undefined}
        basis={
          <>
            {launches.count > launches.row.length
              ? `${count(launches.row.length)} of ${plural(launches.count, "linked launch", "linked launches")}, the shortest and longest of every stretch among them`
              : plural(launches.count, "linked launch", "linked launches")}
            {answer.without_run !== null && answer.without_run > 0 && ` · ${count(answer.without_run)} without a run`}
            {answer.runs_without_launch !== null &&
              answer.runs_without_launch > 0 &&
              ` · ${plural(answer.runs_without_launch, "run")} without a launch`}
          </>
        }
      >
        {launches.count === 0 ? (
          <p class="absent">No launch has a device run in this capture, so no latency is known.</p>
        ) : (
          <Chart
            option={latency}
            label="Launch latency over time; click a point to open it in the timeline"
            height={150}
            testId="latency-chart"
            onClick={openNearest}
          />
        )}
      </Card>
      <Card
        title="Queue depth over time"
        definition={DEPTH}
        testId="queue-depth"
        data={queues.length > 0 ? () => depthData(answer) : undefined}
        basis={
          <>
            {queues.length > 0 &&
              `${queues[0].name}: at most ${plural(queues[0].max, "launch", "launches")} ${queues[0].max === 1 ? "waits" : "wait"}; nothing waits ${percent(queues[0].empty_ratio)} of the time`}
            {answer.queue_count > queues.length &&
              ` · ${plural(answer.queue_count - queues.length, "queue")} not drawn`}
          </>
        }
      >
        {queues.length === 0 ? (
          <p class="absent">No work on a queue has a launch in this capture.</p>
        ) : (
          <>
            {queues.length > 1 && <Queues queues={queues} />}
            <Chart option={depth} label="Work that waits on each queue over time" height={150} testId="depth-chart" />
          </>
        )}
      </Card>
    </>
  );
}

/** Which colour is which queue: text that wraps, since a legend inside of the chart covers it where queues are many. */
function Queues({ queues }: Pick<LaunchesAnswer, "queues">): JSX.Element {
  const palette = SERIES_COLORS[theme.value];
  return (
    <ul class="inline-legend begin" aria-label="Queues">
      {queues.map((queue, i) => (
        <li key={queue.name}>
          <span class="swatch" style={{ background: palette[i % palette.length] }} />
          <bdi>{queue.name}</bdi>
        </li>
      ))}
    </ul>
  );
}

function latencyData({ launches }: LaunchesAnswer): CardData {
  return {
    columns: [
      { label: "At", unit: "moment", title: "End of the launch call, from the origin of the worker." },
      { label: "Launch", unit: "text" },
      { label: "Latency", unit: "ns", title: DEFINITIONS.launchLatency },
      { label: "Behind earlier work", unit: "ns", title: "The part of the latency in which its queue was busy." },
    ],
    rows: launches.t.map((t, i) => [
      t,
      launches.names[launches.name[i]],
      launches.latency[i],
      launches.queue_wait[i] ?? null,
    ]),
  };
}

function depthData({ queues }: LaunchesAnswer): CardData {
  return {
    columns: [
      { label: "Queue", unit: "text" },
      { label: "From", unit: "moment", title: "From the origin of the worker, until the next change of the queue." },
      { label: "Waiting", unit: "count", title: DEPTH },
    ],
    rows: queues.flatMap((queue) => queue.t.map((t, i) => [queue.name, t, queue.depth[i]])),
  };
}

/** Points one after another in numbers: ECharts makes copies of all that it is given, and of arrays in arrays slowly. */
function pairs(x: readonly number[], y: readonly number[]): Float64Array {
  return Float64Array.from({ length: 2 * x.length }, (_, i) => (i % 2 ? y : x)[i >> 1]);
}

function timeAxis(colors: { faint: string }, now: Theme): Record<string, unknown> {
  return axis(now, {
    type: "value",
    scale: true,
    splitLine: { show: false },
    axisLabel: { color: colors.faint, fontSize: 11, hideOverlap: true, formatter: axisDuration },
  });
}

function latencyOption({ launches }: LaunchesAnswer, now: Theme): Option {
  const colors = CHART_COLORS[now];
  const color = SERIES_COLORS[now][0];
  return {
    ...baseOption(now, false),
    tooltip: tooltipOption(now, (params) => {
      const i = (params as { dataIndex: number }[])[0].dataIndex;
      return [
        [launches.names[launches.name[i]], duration(launches.latency[i]), color],
        ["of it, behind earlier work", duration(launches.queue_wait[i])],
        ["at", duration(launches.t[i])],
      ];
    }),
    xAxis: timeAxis(colors, now),
    yAxis: axis(now, {
      type: "value",
      min: 0,
      axisLabel: { color: colors.faint, fontSize: 11, formatter: axisDuration },
    }),
    series: [
      {
        type: "scatter",
        large: true, // one path for all: an element for each takes five times as long
        largeThreshold: 1,
        dimensions: ["t", "latency"],
        data: pairs(launches.t, launches.latency),
        itemStyle: { color, opacity: 0.55 },
        symbolSize: 3, // smaller than 4 they are squares, drawn at once; circles take three times as long
      },
    ],
  };
}

function depthOption({ queues }: LaunchesAnswer, now: Theme): Option {
  const colors = CHART_COLORS[now];
  const palette = SERIES_COLORS[now];
  return {
    ...baseOption(now, false),
    tooltip: tooltipOption(now, (params) =>
      (params as { seriesName: string; value: [number, number]; seriesIndex: number }[]).map((point) => [
        point.seriesName,
        count(point.value[1]),
        palette[point.seriesIndex % palette.length],
      ]),
    ),
    xAxis: timeAxis(colors, now),
    yAxis: axis(now, {
      type: "value",
      min: 0,
      minInterval: 1,
      axisLabel: { color: colors.faint, fontSize: 11 },
    }),
    series: queues.map((queue, i) => ({
      type: "line",
      step: "end",
      name: queue.name,
      dimensions: ["t", "depth"],
      data: pairs(queue.t, queue.depth),
      showSymbol: false,
      // A pixel: a wider line of thousands of steps takes 13 ms to paint instead of 3 without a GPU.
      lineStyle: { width: 1, color: palette[i % palette.length] },
      itemStyle: { color: palette[i % palette.length] },
    })),
  };
}
