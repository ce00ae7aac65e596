// What the steps of all workers are made of, as stacked bars over the steps.

import { axisDuration, duration, percent } from "../format";
import { ACTIVITY_COLORS, PHASE_COLORS, type Theme } from "../palette";
import { partLabel, stretchName, stretchTick, type Family, type RunSteps } from "../run";
import { axis, baseOption, CHART_COLORS, tooltipOption, type Option } from "./echarts";

export function partsOption(steps: RunSteps, family: Family, theme: Theme): Option {
  const colors = CHART_COLORS[theme];
  const fills = (family === "phase" ? PHASE_COLORS : ACTIVITY_COLORS)[theme] as Record<string, string>;
  const told = Object.entries(steps[family]).filter(([, values]) => values.some((value) => (value ?? 0) > 0));
  const measured = steps.first.map((_, i) => i).filter((i) => told.some(([, values]) => values[i] !== null));
  return {
    ...baseOption(theme, true),
    legend: {
      top: 0,
      right: 8,
      itemWidth: 10,
      itemHeight: 10,
      textStyle: { color: colors.faint, fontSize: 11 },
      inactiveColor: colors.line,
    },
    tooltip: tooltipOption(theme, (params) => {
      const i = measured[(params as { dataIndex: number }[])[0].dataIndex];
      const whole = told.reduce((sum, [, values]) => sum + (values[i] ?? 0), 0);
      const name = stretchName(steps, i);
      return [
        [name.charAt(0).toUpperCase() + name.slice(1), duration(whole)],
        ...told.map(([part, values]): [string, string, string] => [
          partLabel(family, part),
          `${duration(values[i])}  ${percent(whole > 0 ? (values[i] ?? 0) / whole : null)}`,
          fills[part],
        ]),
      ];
    }),
    xAxis: axis(theme, {
      type: "category",
      data: measured.map((i) => stretchTick(steps, i)),
      splitLine: { show: false },
    }),
    yAxis: axis(theme, {
      type: "value",
      min: 0,
      axisLabel: { color: colors.faint, fontSize: 11, formatter: axisDuration },
    }),
    series: told.map(([part, values]) => ({
      type: "bar",
      name: partLabel(family, part),
      stack: "parts",
      barCategoryGap: measured.length > 60 ? "0%" : "18%",
      barMaxWidth: 60,
      itemStyle: { color: fills[part] },
      data: measured.map((i) => values[i]),
    })),
  };
}
