// Utilisation of CPU and GPU over time.

import type { ResourcesAnswer, Series } from "../api";
import { percent } from "../format";
import { SERIES_COLORS, type Theme } from "../palette";
import { niceStep, tickLabel } from "../timeline/ruler";
import { axis, baseOption, CHART_COLORS, tooltipOption, type Option } from "./echarts";

const MOST_LINES = 9;

/** The total of the CPU, or every GPU: ratios only, without the single cores. */
export function utilisationSeries(answer: ResourcesAnswer, of: "cpu" | "gpu"): Series[] {
  const ratios = answer.series.filter((series) => series.unit === "ratio");
  if (of === "gpu") return ratios.filter((one) => one.group.toLowerCase().startsWith("gpu")).slice(0, MOST_LINES);
  const cpu = ratios.filter((one) => one.group.toLowerCase() === "cpu");
  const total = cpu.find((one) => one.id.toLowerCase() === "cpu") ?? cpu[0];
  return total ? [total] : [];
}

/** `first`: the colour that the first line has. */
export function utilisationOption(series: readonly Series[], theme: Theme, first: number): Option {
  const colors = CHART_COLORS[theme];
  const last = Math.max(...series.map((one) => one.t.at(-1) ?? -Infinity));
  const zero = Math.min(...series.map((one) => one.t[0] ?? Infinity));
  const total = Math.max(last - zero, 1e9);
  const step = niceStep(total / 6);
  const seconds = (ns: number) => tickLabel(ns, step, total);
  const palette = SERIES_COLORS[theme];
  return {
    ...baseOption(theme, series.length > 1),
    legend: {
      show: series.length > 1,
      top: 0,
      right: 8,
      itemWidth: 14,
      itemHeight: 8,
      icon: "roundRect",
      textStyle: { color: colors.faint, fontSize: 11 },
      inactiveColor: colors.line,
    },
    tooltip: tooltipOption(theme, (params) => {
      const points = params as { value: [number, number | null]; seriesName: string; color: string }[];
      const rows: [string, string, string?][] = [
        [`after ${tickLabel(points[0].value[0], 1e8, Math.max(points[0].value[0], 1e9))}`, ""],
      ];
      for (const point of points) rows.push([point.seriesName, percent(point.value[1]), point.color]);
      return rows;
    }),
    xAxis: axis(theme, {
      type: "value",
      min: 0,
      max: total,
      interval: step,
      splitLine: { show: false },
      axisLabel: { color: colors.faint, fontSize: 11, hideOverlap: true, showMaxLabel: false, formatter: seconds },
    }),
    yAxis: axis(theme, {
      type: "value",
      min: 0,
      max: 1,
      interval: 0.25,
      axisLabel: { color: colors.faint, fontSize: 11, formatter: (y: number) => `${Math.round(y * 100)} %` },
    }),
    series: series.map((one, i) => ({
      type: "line",
      name: one.label,
      data: one.t.map((t, at) => [t - zero, one.mean[at]]),
      showSymbol: one.t.length === 1,
      connectNulls: false,
      lineStyle: { width: 1.5, color: palette[(i + first) % palette.length] },
      itemStyle: { color: palette[(i + first) % palette.length] },
      areaStyle: i === 0 ? { opacity: 0.08 } : undefined,
      sampling: "lttb",
    })),
  };
}
