// Allocated and reserved memory of one allocator over the time of the capture.

import type { MemoryRow } from "../api";
import { bytes, duration } from "../format";
import { SERIES_COLORS, type Theme } from "../palette";
import { niceStep, tickLabel } from "../timeline/ruler";
import { axis, baseOption, CHART_COLORS, tooltipOption, type Option } from "./echarts";

/**
 * A round number of bytes, in binary units, that divides an axis up to `most` into about four. Above 100 of a unit
 * it is a power of two, so that the marks are round in the next unit as well.
 */
export function byteStep(most: number): number {
  const rough = Math.max(most, 4) / 4;
  const unit = 1024 ** Math.floor(Math.log2(rough) / 10);
  const step = [1, 2, 5, 10, 20, 50, 100, 128, 256, 512].find((n) => n * unit >= rough);
  return (step ?? 1024) * unit;
}

/** "1.5 GiB" for a mark of an axis. */
export function byteMark(n: number): string {
  const text = bytes(n);
  return text.includes(".") ? text.replace(/\.?0+ /, " ") : text;
}

export function memoryOption(memory: MemoryRow, theme: Theme): Option {
  const colors = CHART_COLORS[theme];
  const { ts_ns: ts, allocated, reserved } = memory.curve;
  const last = ts.at(-1) ?? 1;
  const tick = niceStep((last - (ts[0] ?? 0)) / 5);
  const first = Math.floor((ts[0] ?? 0) / tick) * tick; // a round time: every mark is one then
  const most = Math.max(memory.peak_bytes, reserved ? (memory.peak_reserved_bytes ?? 0) : 0);
  const step = byteStep(most);
  const line = (name: string, values: number[], color: string, filled: boolean) => ({
    type: "line",
    name,
    step: "end",
    data: ts.map((t, i) => [t, values[i]]),
    showSymbol: ts.length === 1,
    lineStyle: { width: 1.25, color, type: filled ? "solid" : "dashed" },
    itemStyle: { color },
    areaStyle: filled ? { color, opacity: 0.12 } : undefined,
  });
  const palette = SERIES_COLORS[theme];
  return {
    ...baseOption(theme, false),
    tooltip: tooltipOption(theme, (params) => {
      const points = params as { value: [number, number]; seriesName: string; color: string }[];
      const rows: [string, string, string?][] = [[`at ${duration(points[0].value[0])}`, ""]];
      for (const point of points) rows.push([point.seriesName, bytes(point.value[1]), point.color]);
      return rows;
    }),
    xAxis: axis(theme, {
      type: "value",
      min: first,
      max: Math.max(last, first + 1),
      interval: tick,
      splitLine: { show: false },
      axisLabel: {
        color: colors.faint,
        fontSize: 11,
        hideOverlap: true,
        showMaxLabel: false,
        formatter: (ns: number) => (ns === 0 ? "0" : tickLabel(ns, tick, last)),
      },
    }),
    yAxis: axis(theme, {
      type: "value",
      min: 0,
      max: Math.max(1, Math.ceil(most / step)) * step,
      interval: step,
      axisLabel: {
        color: colors.faint,
        fontSize: 11,
        formatter: (n: number) => (n === 0 ? "0" : byteMark(n)),
      },
    }),
    series: [
      line("Allocated", allocated, palette[0], true),
      ...(reserved ? [line("Reserved", reserved, palette[2], false)] : []),
    ],
  };
}
