// The step time over the step number, with the steps that were captured in depth marked.

import type { OverviewAnswer } from "../api";
import { axisDuration, duration } from "../format";
import { SERIES_COLORS, type Theme } from "../palette";
import { stepName } from "../steps";
import { axis, baseOption, CHART_COLORS, tooltipOption, type Option } from "./echarts";

/** What stands on the x axis: the steps' own numbers where they increase, else their position among all steps. */
export function stepAxis(ids: readonly (number | null)[], index: readonly number[]): number[] {
  const numbers = ids.filter((id): id is number => id !== null);
  const grows = numbers.every((id, i) => i === 0 || id > numbers[i - 1]);
  return grows && numbers.length === ids.length ? numbers : [...index];
}

/** Index of the step nearest to a value of the x axis. */
export function nearestStep(xs: readonly number[], x: number): number {
  let best = -1;
  for (let i = 0; i < xs.length; i += 1) if (best < 0 || Math.abs(xs[i] - x) < Math.abs(xs[best] - x)) best = i;
  return best;
}

/** Stretches of steps captured in depth, as [first x, last x]; their ends are among the steps of every overview. */
export function deepRuns(overview: Pick<OverviewAnswer, "deep" | "index">, xs: readonly number[]): [number, number][] {
  const at = new Map(overview.index.map((index, i) => [index, xs[i]]));
  return overview.deep.flatMap(([from, to]) => {
    const [a, b] = [at.get(from), at.get(to)];
    return a === undefined || b === undefined ? [] : [[a, b] as [number, number]];
  });
}

/** `top` is where the time axis is cut, null for its natural end. */
export function stepTimeOption(steps: OverviewAnswer, theme: Theme, top: number | null): Option {
  const colors = CHART_COLORS[theme];
  const xs = stepAxis(steps.id, steps.index);
  const deep = deepRuns(steps, xs);
  const all = deep.length === 1 && deep[0][0] === xs[0] && deep[0][1] === xs.at(-1);
  const line = SERIES_COLORS[theme][0];
  const lowest = xs[0] ?? 0;
  const highest = xs.at(-1) ?? 1;
  return {
    ...baseOption(theme, false),
    tooltip: tooltipOption(theme, (params) => {
      const point = (params as { dataIndex: number }[])[0];
      const i = point.dataIndex;
      const rows: [string, string, string?][] = [[`Step ${stepName(steps, i)}`, duration(steps.duration[i]), line]];
      if (steps.host[i] !== null && steps.host[i] !== steps.duration[i])
        rows.push(["on the host", duration(steps.host[i])]);
      if (deep.some(([from, to]) => xs[i] >= from && xs[i] <= to)) rows.push(["captured in depth", ""]);
      if (!steps.complete[i]) rows.push(["cut at the end of the capture", ""]);
      return rows;
    }),
    xAxis: axis(theme, {
      type: "value",
      min: highest > lowest ? lowest : lowest - 1,
      max: highest > lowest ? highest : highest + 1,
      minInterval: 1,
      splitLine: { show: false },
      axisLabel: {
        color: colors.faint,
        fontSize: 11,
        hideOverlap: true,
        formatter: (x: number) => (Number.isInteger(x) ? String(x) : ""),
      },
    }),
    yAxis: axis(theme, {
      type: "value",
      min: 0,
      max: top,
      axisLabel: { color: colors.faint, fontSize: 11, formatter: axisDuration },
    }),
    dataZoom: [{ type: "inside", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false, filterMode: "none" }],
    series: [
      {
        type: "line",
        name: "Step time",
        data: xs.map((x, i) => [x, steps.duration[i]]),
        lineStyle: { width: 1.25, color: line },
        itemStyle: { color: line },
        symbol: "circle",
        symbolSize: 5,
        showSymbol: xs.length <= 100,
        sampling: "minmax",
        markArea: all
          ? undefined
          : {
              silent: true,
              itemStyle: { color: line, opacity: 0.12 },
              data: deep.map(([from, to]) => [{ xAxis: from - 0.5 }, { xAxis: to + 0.5 }]),
            },
      },
    ],
  };
}
