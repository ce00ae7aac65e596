// A measure of all workers over the steps: the mean as a line, from the least to the most as a band.

import { axisDuration, duration } from "../format";
import { SERIES_COLORS, type Theme } from "../palette";
import { rankName, stretchName, type Ranks, type RunSteps } from "../run";
import { axis, baseOption, CHART_COLORS, tooltipOption, type Option } from "./echarts";

/** Where a stretch of steps stands on the axis. */
export const stretchX = (steps: RunSteps, i: number) => (steps.first_id[i] + steps.last_id[i]) / 2;

export function bandOption(steps: RunSteps, ranks: Ranks, theme: Theme): Option {
  const colors = CHART_COLORS[theme];
  const [color] = SERIES_COLORS[theme];
  const xs = steps.first.map((_, i) => stretchX(steps, i));
  const line = (name: string, values: (number | null)[], more: Record<string, unknown>) => ({
    type: "line",
    name,
    data: xs.map((x, i) => [x, values[i]]),
    symbol: "circle",
    symbolSize: 5,
    showSymbol: xs.length === 1,
    connectNulls: false,
    itemStyle: { color },
    ...more,
  });
  const width = steps.max.map((most, i) => (most === null || steps.min[i] === null ? null : most - steps.min[i]!));
  const edge = { lineStyle: { width: 0 }, stack: "band", silent: true, symbol: "none" };
  return {
    ...baseOption(theme, false),
    tooltip: tooltipOption(theme, (params) => {
      const i = (params as { dataIndex: number }[])[0].dataIndex;
      const slowest = steps.slowest[i];
      const name = stretchName(steps, i);
      const rows: [string, string, string?][] = [
        [name.charAt(0).toUpperCase() + name.slice(1), ""],
        ["mean of all", duration(steps.mean[i]), color],
        ["least", duration(steps.min[i])],
        ["most", duration(steps.max[i])],
      ];
      if (slowest !== null) rows.push(["slowest", rankName(ranks, slowest)]);
      return rows;
    }),
    xAxis: axis(theme, {
      type: "value",
      min: "dataMin",
      max: "dataMax",
      minInterval: 1,
      splitLine: { show: false },
      axisLabel: {
        color: colors.faint,
        fontSize: 11,
        hideOverlap: true,
        formatter: (x: number) => (Number.isInteger(x) ? x.toLocaleString("en-US") : ""),
      },
    }),
    yAxis: axis(theme, {
      type: "value",
      min: 0,
      axisLabel: { color: colors.faint, fontSize: 11, formatter: axisDuration },
    }),
    dataZoom: [{ type: "inside", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false, filterMode: "none" }],
    series: [
      line("Mean", steps.mean, { lineStyle: { width: 1.5, color }, z: 3 }),
      line("Least", steps.min, edge),
      line("Spread", width, { ...edge, areaStyle: { color, opacity: 0.22 } }),
    ],
  };
}
