// Differences as bars, the largest first, and what they add up to as a line.

import { axisDuration, duration } from "../format";
import { SERIES_COLORS, type Theme } from "../palette";
import { signed } from "../ui/delta";
import { axis, baseOption, CHART_COLORS, tooltipOption, type Option } from "./echarts";

export interface DifferenceBar {
  name: string;
  a_ns: number;
  b_ns: number;
  difference_ns: number;
  accumulated_ns: number;
}

// Those of --bad and --good.
const BARS: Record<Theme, { more: string; less: string }> = {
  light: { more: "#b3261e", less: "#1a7f4b" },
  dark: { more: "#f28b82", less: "#5cc48d" },
};

export function differencesOption(bars: readonly DifferenceBar[], theme: Theme): Option {
  const colors = CHART_COLORS[theme];
  const [line] = SERIES_COLORS[theme];
  const fill = (ns: number) => (ns > 0 ? BARS[theme].more : BARS[theme].less);
  return {
    ...baseOption(theme, false),
    tooltip: tooltipOption(theme, (params) => {
      const bar = bars[(params as { dataIndex: number }[])[0].dataIndex];
      return [
        [bar.name, ""],
        ["A", bar.a_ns === 0 ? "0" : duration(bar.a_ns)],
        ["B", bar.b_ns === 0 ? "0" : duration(bar.b_ns)],
        ["B − A", signed(bar.difference_ns), fill(bar.difference_ns)],
        ["Accumulated", signed(bar.accumulated_ns), line],
      ];
    }),
    xAxis: axis(theme, {
      type: "category",
      data: bars.map((_, i) => i),
      splitLine: { show: false },
      axisLine: { onZero: true, lineStyle: { color: colors.faint } },
      axisLabel: { show: false }, // names are long: the tooltip and the table tell them
    }),
    yAxis: axis(theme, {
      type: "value",
      splitNumber: 4,
      axisLabel: {
        color: colors.faint,
        fontSize: 11,
        formatter: (ns: number) => `${ns > 0 ? "+" : ns < 0 ? "−" : ""}${axisDuration(Math.abs(ns))}`,
      },
    }),
    series: [
      {
        type: "bar",
        barMaxWidth: 40,
        data: bars.map((bar) => ({ value: bar.difference_ns, itemStyle: { color: fill(bar.difference_ns) } })),
      },
      {
        type: "line",
        symbolSize: 5,
        itemStyle: { color: line },
        lineStyle: { color: line, width: 2 },
        data: bars.map((bar) => bar.accumulated_ns),
      },
    ],
  };
}
