// A measure of all workers over the steps: the mean as a line, from the least to the most as a band.

import { axisDuration, duration } from "../format";
import { SERIES_COLORS, type Theme } from "../palette";
import { rankName, stretchName, stretchTick, type Ranks, type RunSteps } from "../run";
import { axis, baseOption, CHART_COLORS, tooltipOption, type Option } from "./echarts";

export function bandOption(steps: RunSteps, ranks: Ranks, theme: Theme): Option {
  const colors = CHART_COLORS[theme];
  const [color] = SERIES_COLORS[theme];
  const line = (name: string, values: (number | null)[], more: Record<string, unknown>) => ({
    type: "line",
    name,
    data: values,
    symbol: "circle",
    symbolSize: 5,
    showSymbol: values.length === 1,
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
      type: "category",
      boundaryGap: true, // as the columns of the map below it
      data: steps.first.map((_, i) => stretchTick(steps, i)),
      splitLine: { show: false },
    }),
    yAxis: axis(theme, {
      type: "value",
      min: 0,
      axisLabel: { color: colors.faint, fontSize: 11, formatter: axisDuration },
    }),
    series: [
      line("Mean", steps.mean, { lineStyle: { width: 1.5, color }, z: 3 }),
      line("Least", steps.min, edge),
      line("Spread", width, { ...edge, areaStyle: { color, opacity: 0.22 } }),
    ],
  };
}
