// The listed rows' differences as bars and what they add up to as a line, up to the difference of all.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { differencesOption, type DifferenceBar } from "../charts/differences";
import { Chart } from "../charts/echarts";
import { plural } from "../format";
import { brief } from "../names";
import { theme } from "../state";
import { Card } from "../ui/card";
import { signed } from "../ui/delta";
import type { ComparedWork, JoinedRow } from "./compare-requests";

const MOST_BARS = 40;
const NS = ["A", "B", "B - A", "Accumulated"].map((label) => ({ label, unit: "ns" as const }));

export function DifferenceLine(props: { work: ComparedWork; rows: readonly JoinedRow[]; of: string }): JSX.Element {
  const { work, rows } = props;
  const now = theme.value;
  const bars = useMemo(() => barsOf(work, rows), [work, rows]);
  const option = useMemo(() => differencesOption(bars, now), [bars, now]);
  const total = signed(work.difference_ns ?? 0);
  const others = work.rows.length + (work.rest?.count ?? 0) - Math.min(rows.length, MOST_BARS);
  const rest = others > 0 ? `; the last bar is the ${plural(others, "other")}` : "";
  return (
    <Card
      title={`${props.of}: the difference added up`}
      definition="Bars: time a step of B less that of A, the largest first. Line: the sum of the bars down to there."
      basis={`The line ends at the difference of all, ${total}${rest}`}
      testId="compare-line"
      data={() => ({
        columns: [{ label: "Name", unit: "text" as const }, ...NS],
        rows: bars.map((bar) => [bar.name, bar.a_ns, bar.b_ns, bar.difference_ns, bar.accumulated_ns]),
      })}
    >
      <Chart
        option={option}
        height={170}
        testId="compare-line-chart"
        label={`Differences of ${plural(bars.length, "row")} and their sum, which ends at ${signed(bars[bars.length - 1]?.accumulated_ns ?? 0)}`}
      />
    </Card>
  );
}

/** The rows as sent, the largest difference first, and one bar for all others. */
export function barsOf(work: ComparedWork, rows: readonly JoinedRow[]): DifferenceBar[] {
  const told = rows.slice(0, MOST_BARS);
  const bars: DifferenceBar[] = [];
  const sum = { a_ns: 0, b_ns: 0, difference_ns: 0 };
  for (const { name, a_ns, b_ns, difference_ns } of told) {
    sum.a_ns += a_ns;
    sum.b_ns += b_ns;
    sum.difference_ns += difference_ns;
    bars.push({ name: brief(name), a_ns, b_ns, difference_ns, accumulated_ns: sum.difference_ns });
  }
  const others = work.count - told.length;
  if (others > 0) {
    const all = work.difference_ns ?? 0;
    bars.push({
      name: plural(others, "other"),
      a_ns: (work.a_ns ?? 0) - sum.a_ns,
      b_ns: (work.b_ns ?? 0) - sum.b_ns,
      difference_ns: all - sum.difference_ns,
      accumulated_ns: all,
    });
  }
  return bars;
}
