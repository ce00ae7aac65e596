// A histogram of durations with its numbers below: used for steps and for any named region.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Percentiles } from "../api";
import { Chart } from "../charts/echarts";
import { histogramOption } from "../charts/histogram";
import { count, duration, exact, plural } from "../format";
import { theme } from "../state";
import type { Histogram } from "../table/requests";
import type { CardData } from "./card";

const QUANTILES: [keyof Percentiles, string, string][] = [
  ["min", "Shortest", "The shortest one."],
  ["p50", "Median", "Half of them were not longer, by nearest rank."],
  ["p95", "p95", "95 of 100 were not longer, by nearest rank."],
  ["p99", "p99", "99 of 100 were not longer, by nearest rank."],
  ["max", "Longest", "The longest one."],
  ["mean", "Mean", "Sum of the durations divided by their number."],
];

/** `what` in the plural: "steps", "regions". */
export function Durations(props: {
  histogram: Histogram;
  time: Percentiles;
  what: [string, string];
  testId: string;
}): JSX.Element {
  const { histogram, time, testId } = props;
  const [one, many] = props.what;
  const now = theme.value;
  const option = useMemo(() => histogramOption(histogram, time, now, many), [histogram, time, now, many]);
  return (
    <>
      <Chart
        option={option}
        height={150}
        testId={`${testId}-chart`}
        label={`Histogram of the durations of ${plural(time.count, one, many)}: median ${duration(time.p50)}, 95th percentile ${duration(time.p95)}`}
      />
      {histogram.above > 0 && (
        <p class="chart-note">
          {`${plural(histogram.above, one, many)} longer than the axis, up to ${duration(histogram.longest_ns)}.`}
        </p>
      )}
      <dl class="figures tight">
        {QUANTILES.map(([key, label, title]) => (
          <div key={key} title={`${title} ${exact(time[key])} of ${count(time.count)} ${many}.`}>
            <dt>{label}</dt>
            <dd data-testid={`${testId}-${key}`} data-ns={time[key]}>
              {duration(time[key])}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

export function durationsData(histogram: Histogram, time: Percentiles, many: string): CardData {
  const { edges_ns: edges, count: counts, above, longest_ns: longest } = histogram;
  const share = (n: number) => (time.count > 0 ? n / time.count : null);
  const rows = counts.map((n, i) => [edges[i], edges[i + 1], n, share(n)]);
  if (above > 0) rows.push([edges[edges.length - 1], longest, above, share(above)]);
  return {
    columns: [
      { label: "From", unit: "ns", title: "Lower edge of the bin, which belongs to it." },
      { label: "To", unit: "ns", title: "Upper edge of the bin; it belongs to the next one." },
      { label: many.charAt(0).toUpperCase() + many.slice(1), unit: "count" },
      { label: "Share", unit: "ratio", title: `Divided by all ${count(time.count)}.` },
    ],
    rows,
  };
}
