// Durations in bins as columns, with the median and the 95th percentile marked.

import type { Percentiles } from "../api";
import { axisDuration, count, duration, percent } from "../format";
import { SERIES_COLORS, type Theme } from "../palette";
import type { Histogram } from "../table/requests";
import { niceStep, tickLabel } from "../timeline/ruler";
import { axis, baseOption, CHART_COLORS, CHART_FONT, tooltipOption, type Option } from "./echarts";

const NARROW = 0.05; // of the value: three digits no longer tell the marks apart
const EQUAL = 1e-5;

/** The texts of the marks of an axis from `first` on, `width` long. */
function markText(first: number, width: number): (ns: number) => string {
  if (width < EQUAL * first) return (ns) => (ns === first ? axisDuration(ns) : ""); // all take equally long
  if (width < NARROW * first) return (ns) => tickLabel(ns, niceStep(width / 5), first + width);
  return axisDuration;
}

export function histogramOption(histogram: Histogram, time: Percentiles, theme: Theme, what: string): Option {
  const colors = CHART_COLORS[theme];
  const [fill, , mark] = SERIES_COLORS[theme];
  const { edges_ns: edges, count: counts } = histogram;
  const width = edges[edges.length - 1] - edges[0];
  const placed = (at: number) => (at - edges[0]) / width;
  // Each name beside its line, away from the other one and inside the plot.
  const marks = [
    { at: time.p50, name: "median", align: placed(time.p50) < 0.15 ? "left" : "right" },
    { at: time.p95, name: "p95", align: placed(time.p95) > 0.9 ? "right" : "left" },
  ].filter(({ at }, i, all) => at <= edges[edges.length - 1] && (i === 0 || at !== all[0].at));
  return {
    ...baseOption(theme, false),
    grid: { left: 8, right: 18, top: 22, bottom: 4, containLabel: true },
    tooltip: {
      ...tooltipOption(theme, (params) => {
        const i = (params as { dataIndex: number }[])[0].dataIndex;
        return [
          [`${duration(edges[i])} to ${duration(edges[i + 1])}`, ""],
          [what, count(counts[i]), fill],
          ["of all", percent(time.count > 0 ? counts[i] / time.count : null)],
        ];
      }),
      axisPointer: { type: "shadow", shadowStyle: { color: colors.faint, opacity: 0.12 } },
    },
    // A category axis carries the columns, a value axis over it the scale: bins are not centred on round numbers.
    xAxis: [
      { type: "category", data: counts.map((_, i) => i), show: false },
      axis(theme, {
        type: "value",
        min: edges[0],
        max: edges[edges.length - 1],
        position: "bottom",
        splitLine: { show: false },
        splitNumber: 5,
        axisLabel: { color: colors.faint, fontSize: 11, hideOverlap: true, formatter: markText(edges[0], width) },
      }),
    ],
    yAxis: axis(theme, {
      type: "value",
      minInterval: 1,
      splitNumber: 3,
      axisLabel: { color: colors.faint, fontSize: 11, formatter: (n: number) => count(n) },
    }),
    series: [
      {
        type: "bar",
        data: [...counts],
        barCategoryGap: counts.length > 40 ? 0 : 1,
        itemStyle: { color: fill },
      },
      {
        type: "line",
        xAxisIndex: 1,
        data: [],
        markLine: {
          silent: true,
          symbol: "none",
          animation: false,
          lineStyle: { color: mark, type: "dashed", width: 1 },
          label: { color: colors.faint, fontSize: 11, fontFamily: CHART_FONT, formatter: "{b}" },
          data: marks.map(({ at, name, align }) => ({ xAxis: at, name, label: { align } })),
        },
      },
    ],
  };
}
