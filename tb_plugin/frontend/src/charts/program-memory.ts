// The memory of a compiled program over its instructions.

import { bytes, count } from "../format";
import { SERIES_COLORS, type Theme } from "../palette";
import type { CourseAnswer } from "../xla/requests";
import { axis, baseOption, CHART_COLORS, tooltipOption, type Option } from "./echarts";
import { byteMark, byteStep } from "./memory";

/** `at`: the chosen position, which a line marks. The axis counts instructions from 1, as the page does. */
export function programMemoryOption(answer: CourseAnswer, at: number, theme: Theme): Option {
  const colors = CHART_COLORS[theme];
  const palette = SERIES_COLORS[theme];
  const { memory } = answer;
  const step = byteStep(memory.total_bytes);
  const last = Math.max(answer.steps, 2);
  const fixed = memory.peak_bytes - memory.temporary_peak_bytes;
  const flat = (name: string, value: number, color: string) => ({
    type: "line",
    name,
    data: [
      [1, value],
      [last, value],
    ],
    showSymbol: false,
    lineStyle: { width: 1.25, color, type: "dashed" },
    itemStyle: { color },
  });
  return {
    ...baseOption(theme, true),
    legend: { top: 0, right: 8, textStyle: { color: colors.faint, fontSize: 11 }, itemWidth: 14, itemHeight: 8 },
    tooltip: tooltipOption(theme, (params) => {
      const point = (params as { seriesName: string; dataIndex: number; color: string }[]).find(
        ({ seriesName }) => seriesName === "Alive",
      );
      if (!point) return [];
      const i = point.dataIndex;
      return [
        [`${count(answer.at[i] + 1)} of ${count(answer.steps)}: ${answer.op[i] ?? ""}`, ""],
        ["Alive", bytes(answer.level[i]), point.color],
        ["of it temporary", bytes(answer.level[i] - fixed)],
      ];
    }),
    xAxis: axis(theme, { type: "value", min: 1, max: last, splitLine: { show: false }, minInterval: 1 }),
    yAxis: axis(theme, {
      type: "value",
      min: 0,
      max: Math.max(1, Math.ceil(memory.total_bytes / step)) * step,
      interval: step,
      axisLabel: {
        color: colors.faint,
        fontSize: 11,
        formatter: (n: number) => (n === 0 ? "0" : byteMark(n)),
      },
    }),
    series: [
      {
        type: "line",
        name: "Alive",
        step: "end",
        data: answer.at.map((position, i) => [position + 1, answer.level[i]]),
        showSymbol: answer.at.length === 1,
        lineStyle: { width: 1.25, color: palette[0] },
        itemStyle: { color: palette[0] },
        areaStyle: { color: palette[0], opacity: 0.12 },
        markLine: {
          silent: true,
          symbol: "none",
          label: { show: false },
          lineStyle: { color: colors.text, type: "solid", width: 1 },
          data: [{ xAxis: at + 1 }],
        },
      },
      flat("Allocated in all", memory.total_bytes, palette[2]),
      flat("There all the time", fixed, palette[3]),
    ],
  };
}
