// ECharts with only the parts in use, as a component that follows its size and the theme.

import { BarChart, LineChart, ScatterChart } from "echarts/charts";
import {
  DataZoomComponent,
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
  MarkLineComponent,
  TooltipComponent,
} from "echarts/components";
import { init, use, type EChartsType } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Theme } from "../palette";
import { inTurn } from "./turns";

use([
  BarChart,
  LineChart,
  ScatterChart,
  GridComponent,
  TooltipComponent,
  LegendComponent,
  DataZoomComponent,
  MarkAreaComponent,
  MarkLineComponent,
  CanvasRenderer,
]);

export type Option = Parameters<EChartsType["setOption"]>[0];

export interface ChartColors {
  text: string;
  faint: string;
  line: string;
  surface: string;
}

export const CHART_COLORS: Record<Theme, ChartColors> = {
  light: { text: "#1c2127", faint: "#5d6875", line: "#e3e6ea", surface: "#ffffff" },
  dark: { text: "#e4e7eb", faint: "#98a2ae", line: "#2a2f37", surface: "#23272f" },
};

export const CHART_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif';

/** What all charts share. Without animation: a chart that is redrawn every two seconds must not move by itself. */
export function baseOption(theme: Theme, legend: boolean): Record<string, unknown> {
  const colors = CHART_COLORS[theme];
  return {
    animation: false,
    textStyle: { fontFamily: CHART_FONT, color: colors.text, fontSize: 11 },
    grid: { left: 8, right: 14, top: legend ? 28 : 10, bottom: 4, containLabel: true },
  };
}

export function axis(theme: Theme, more: Record<string, unknown>): Record<string, unknown> {
  const colors = CHART_COLORS[theme];
  return {
    axisLine: { lineStyle: { color: colors.line } },
    axisTick: { show: false },
    axisLabel: { color: colors.faint, fontSize: 11, hideOverlap: true },
    splitLine: { lineStyle: { color: colors.line } },
    nameTextStyle: { color: colors.faint, fontSize: 11 },
    ...more,
  };
}

/** Tooltips are built from text nodes: names in data never become markup. */
export function tooltipOption(
  theme: Theme,
  rows: (params: unknown) => [string, string, string?][],
): Record<string, unknown> {
  const colors = CHART_COLORS[theme];
  return {
    trigger: "axis",
    confine: true,
    backgroundColor: colors.surface,
    borderColor: colors.line,
    padding: [6, 10],
    textStyle: { color: colors.text, fontSize: 12, fontFamily: CHART_FONT },
    axisPointer: { lineStyle: { color: colors.faint, width: 1 } },
    formatter: (params: unknown) => {
      const box = document.createElement("div");
      box.className = "chart-tip";
      for (const [label, value, color] of rows(params)) {
        const line = box.appendChild(document.createElement("div"));
        const swatch = line.appendChild(document.createElement("span"));
        swatch.className = "swatch";
        swatch.style.background = color ?? "transparent";
        line.appendChild(document.createElement("span")).textContent = label;
        line.appendChild(document.createElement("b")).textContent = value;
      }
      return box;
    },
  };
}

/** A chart, or the empty box of one that waits for its turn. */
export function Chart(props: {
  option: Option;
  label: string;
  height: number;
  testId: string;
  onClick?: (x: number, y: number) => void; // the values of the axes
}): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  const chart = useRef<EChartsType | null>(null);
  const onClick = useRef(props.onClick);
  onClick.current = props.onClick;

  const late = useRef<(() => void) | null>(null); // its turn has come, and it had no size

  useEffect(
    () =>
      inTurn(function draw() {
        const own = element.current;
        if (!own) return;
        late.current = own.clientWidth > 0 ? null : draw;
        if (late.current) return;
        chart.current ??= made(own, onClick);
        chart.current.setOption(props.option, { notMerge: false, replaceMerge: ["series"] });
      }),
    [props.option],
  );
  useEffect(() => {
    const own = element.current;
    if (!own) return;
    const observer = new ResizeObserver(() => {
      const now = chart.current;
      if (own.clientWidth === 0) return; // the chart is taken away, or the page is hidden
      late.current?.();
      // It calls once at the start too, and everything would be drawn twice.
      if (now && (now.getWidth() !== own.clientWidth || now.getHeight() !== own.clientHeight)) now.resize();
    });
    observer.observe(own);
    return () => {
      observer.disconnect();
      chart.current?.dispose();
      chart.current = null;
    };
  }, []);

  return (
    <div
      ref={element}
      class={`chart${props.onClick ? " clickable" : ""}`}
      role="img"
      aria-label={props.label}
      data-testid={props.testId}
      style={{ minHeight: `${props.height}px` }}
    />
  );
}

function made(element: HTMLDivElement, onClick: { current?: (x: number, y: number) => void }): EChartsType {
  const chart = init(element, undefined, { renderer: "canvas" });
  // Anywhere in the plot counts as the nearest x: points of a line are too small to hit.
  chart.getZr().on("click", (event: { offsetX: number; offsetY: number }) => {
    const point = [event.offsetX, event.offsetY];
    if (!onClick.current || !chart.containPixel("grid", point)) return;
    const [x, y] = chart.convertFromPixel({ gridIndex: 0 }, point) as number[];
    onClick.current(x, y);
  });
  return chart;
}
