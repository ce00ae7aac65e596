// The roofline of XLA's operations, or of PyTorch's products and convolutions: FLOP/s over FLOP/byte, both as logarithms,
// under the ceilings of the device.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { axis, baseOption, Chart, CHART_COLORS, tooltipOption, type Option } from "../charts/echarts";
import { decades, roofLine } from "../charts/roof";
import { DEFINITIONS } from "../definitions";
import { count, digits, duration, operations, percent, plural, rate } from "../format";
import { SERIES_COLORS, type Theme } from "../palette";
import { theme } from "../state";
import { Card, type CardData } from "../ui/card";
import { useFetched } from "../ui/fetched";
import { Await } from "../ui/states";
import { getRoofline, type RooflineAnswer } from "./requests";

const WORDS: Record<string, string> = {
  f64: "f64",
  f32: "f32, vector units",
  tf32: "TF32, matrix units",
  f16: "f16 and bf16, matrix units",
  f8: "f8, matrix units",
};
const MOST_COLORS = 8; // of categories; the rest share the last

interface Props {
  table: "hlo" | "operators";
  onOpen: (id: number) => void;
}

/** Of operators it is there where any has FLOPs: captures without shapes, and frameworks but PyTorch, tell none. */
export function Roofline({ table, onOpen }: Props): JSX.Element | null {
  const found = useFetched(`roofline ${table}`, (key, signal) => getRoofline(key, table, signal));
  if (table === "operators" && !found.value?.count) return null;
  return (
    <div class="roofline">
      <Await of={found} what="the roofline">
        {(answer) => <Shown answer={answer} table={table} onOpen={onOpen} />}
      </Await>
    </div>
  );
}

function Shown({ answer, table, onOpen }: Props & { answer: RooflineAnswer }): JSX.Element {
  const option = useMemo(() => optionOf(answer, theme.value), [answer, theme.value]);
  /** The nearest point, both axes as they are drawn. */
  const openNearest = (x: number, y: number) => {
    let best = -1;
    let least = Infinity;
    answer.id.forEach((_, i) => {
      const far = Math.log(answer.intensity[i] / x) ** 2 + Math.log(answer.flop_per_s[i] / y) ** 2;
      if (far < least) [least, best] = [far, i];
    });
    if (best >= 0) onOpen(answer.id[best]);
  };
  return (
    <Card
      title="Roofline"
      definition={table === "hlo" ? DEFINITIONS.roofline : DEFINITIONS.operatorRoofline}
      testId="roofline"
      basis={<Basis answer={answer} table={table} />}
      data={answer.count > 0 ? () => dataOf(answer, table) : undefined}
    >
      {answer.count === 0 ? (
        <p class="absent">
          No operation has FLOPs and bytes that are known: the recording does not hold the programs, or nothing in them
          computes.
        </p>
      ) : (
        <Chart
          option={option}
          label="FLOP/s of each operation over its FLOP/byte; click a point to open its row"
          height={210}
          testId="roofline-chart"
          onClick={openNearest}
        />
      )}
    </Card>
  );
}

function Basis({ answer, table }: { answer: RooflineAnswer; table: Props["table"] }): JSX.Element {
  const { ceilings, count: all, id, without_flops: without, without_flops_ns: ns } = answer;
  return (
    <>
      {id.length < all ? `${count(id.length)} of ` : ""}
      {table === "hlo" ? plural(all, "operation") : plural(all, "product or convolution", "products and convolutions")}
      {without > 0 &&
        ` · ${count(without)} that compute nothing, or whose FLOPs are not known (${duration(ns)}), not drawn`}
      {" · "}
      {ceilings ? (
        <span title={`Dense peak rates and memory bandwidth as published: ${ceilings.source}`}>
          {`roof of ${ceilings.model}: ${rate(ceilings.bytes_per_s)}, ${
            Object.entries(ceilings.flop_per_s)
              .map(([name, value]) => `${operations(value)}/s ${WORDS[name] ?? name}`)
              .join(", ") || "no peak in use"
          }`}
        </span>
      ) : answer.on_device ? (
        "no roof: the capture does not tell a device whose peak rates are known here"
      ) : (
        "no roof: the operations ran on the host's CPU, whose peak rates are not known"
      )}
    </>
  );
}

function dataOf(answer: RooflineAnswer, table: Props["table"]): CardData {
  return {
    columns: [
      { label: table === "hlo" ? "HLO operation" : "Operator", unit: "text" },
      { label: table === "hlo" ? "Program" : "Input shapes", unit: "text" },
      { label: "Category", unit: "word" },
      { label: "FLOP/byte", unit: "number" },
      { label: "FLOP/s", unit: "flop_per_s" },
      { label: table === "hlo" ? "Self" : answer.on_device ? "Device total" : "Host total", unit: "ns" },
      { label: "Of the roof", unit: "ratio" },
    ],
    rows: answer.name.map((name, i) => [
      name,
      answer.detail[i],
      answer.category[i],
      answer.intensity[i],
      answer.flop_per_s[i],
      answer.self_ns[i],
      answer.of_roof[i],
    ]),
  };
}

function optionOf(answer: RooflineAnswer, now: Theme): Option {
  const colors = CHART_COLORS[now];
  const palette = SERIES_COLORS[now];
  const { ceilings } = answer;
  const peaks = Object.entries(ceilings?.flop_per_s ?? {});
  const ridges = peaks.map(([, peak]) => peak / (ceilings?.bytes_per_s ?? 1));
  const x = decades([...answer.intensity, ...ridges]);
  const y = decades([...answer.flop_per_s, ...peaks.map(([, peak]) => peak)]);
  const groups = new Map<string, number[]>();
  answer.id.forEach((_, i) => {
    const name = answer.category[i] ?? "not told";
    const key = groups.has(name) || groups.size < MOST_COLORS - 1 ? name : "others";
    groups.set(key, [...(groups.get(key) ?? []), i]);
  });
  const label = { color: colors.faint, fontSize: 11 };
  return {
    ...baseOption(now, true),
    grid: { left: 8, right: 14, top: 28, bottom: 18, containLabel: true },
    legend: {
      type: "plain",
      top: 0,
      left: 0,
      textStyle: { color: colors.text, fontSize: 11 },
      itemHeight: 8,
      itemWidth: 14,
    },
    tooltip: {
      ...tooltipOption(now, (params) => {
        const i = (params as { value: [number, number, number] }).value[2];
        if (i === undefined) return [];
        return [
          [answer.name[i], (answer.category[i] === answer.name[i] ? answer.detail[i] : answer.category[i]) ?? ""],
          ["FLOP/s", `${operations(answer.flop_per_s[i])}/s`],
          ["FLOP/byte", digits(answer.intensity[i])],
          ["time", `${duration(answer.self_ns[i])} (${percent(answer.share[i])})`],
          ...(answer.of_roof[i] === null ? [] : [["of the roof", percent(answer.of_roof[i])] as [string, string]]),
        ];
      }),
      trigger: "item",
    },
    xAxis: axis(now, {
      type: "log",
      min: x[0],
      max: x[1],
      name: "FLOP/byte",
      nameLocation: "middle",
      nameGap: 22,
      axisLabel: { ...label, formatter: (value: number) => String(Number(value.toPrecision(1))) },
    }),
    yAxis: axis(now, {
      type: "log",
      min: y[0],
      max: y[1],
      axisLabel: { ...label, formatter: (value: number) => `${operations(value).replace(/\.0+ /, " ")}/s` },
    }),
    series: [
      ...[...groups].map(([name, members], g) => ({
        type: "line", // a scatter: a line of no width
        name,
        data: members.map((i) => [answer.intensity[i], answer.flop_per_s[i], i]),
        lineStyle: { width: 0 },
        itemStyle: { color: palette[g % palette.length], opacity: 0.75 },
        symbol: "circle",
        symbolSize: (value: number[]) => 5 + 15 * Math.sqrt(answer.share[value[2]]),
        showSymbol: true,
        showAllSymbol: true,
      })),
      ...peaks.map(([name, peak]) => ({
        type: "line",
        name: `roof, ${WORDS[name] ?? name}`,
        data: roofLine(peak, ceilings!.bytes_per_s, x[0], x[1]),
        symbol: "none",
        silent: true,
        lineStyle: { width: 1.5, type: "dashed", color: colors.faint },
        itemStyle: { color: colors.faint },
      })),
    ],
  };
}
