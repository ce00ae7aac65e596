// CPU and GPU utilisation as the resource monitor sampled it: the share of active time, and the curve over time.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { ResourceRow, ResourcesAnswer, Series, SummaryAnswer } from "../api";
import { Chart } from "../charts/echarts";
import { utilisationOption, utilisationSeries } from "../charts/resources";
import { resources } from "../data";
import { DEFINITIONS } from "../definitions";
import { count, duration, percent } from "../format";
import { GPU_COLOR, SERIES_COLORS } from "../palette";
import { theme } from "../state";
import { Card, type CardData } from "../ui/card";
import { Meter } from "../ui/meter";
import { Await } from "../ui/states";

export type Processor = "cpu" | "gpu";

const TITLES: Record<Processor, string> = { cpu: "CPU utilisation", gpu: "GPU utilisation" };
const ACTIVE: Record<Processor, string> = { cpu: DEFINITIONS.cpuActive, gpu: DEFINITIONS.gpuActive };

/** What the monitor of the worker's host measured of one kind of processor, by host. */
export function measuredUse(answer: SummaryAnswer, of: Processor): [string, ResourceRow][] {
  return Object.entries(answer.resources ?? {}).flatMap(([host, metrics]) => {
    const row = metrics[of];
    return row ? [[host, row] as [string, ResourceRow]] : [];
  });
}

/** Nothing where it was not measured: another card says so. */
export function Utilisation({ answer, of }: { answer: SummaryAnswer; of: Processor }): JSX.Element | null {
  const hosts = measuredUse(answer, of);
  const loaded = resources.now.value;
  const series = useMemo(() => (loaded.value ? utilisationSeries(loaded.value, of) : []), [loaded.value, of]);
  if (hosts.length === 0) return null;
  return (
    <Card
      title={TITLES[of]}
      definition={of === "cpu" ? DEFINITIONS.cpu : DEFINITIONS.gpuUtil}
      data={() => curvesData(series, loaded.value)}
      testId={`${of}-utilisation`}
    >
      {hosts.map(([host, row]) => (
        <Active key={host} host={hosts.length > 1 ? host : null} row={row} of={of} />
      ))}
      <Await of={loaded} what="the resource curves">
        {(value) => <Curves series={series} interval={value.interval_ms} of={of} />}
      </Await>
    </Card>
  );
}

/** Active and idle time as one bar, and the figures beside it. */
function Active({ host, row, of }: { host: string | null; row: ResourceRow; of: Processor }): JSX.Element {
  const color = SERIES_COLORS[theme.value][of === "cpu" ? 0 : GPU_COLOR];
  const each = Object.entries(row.mean_by_index ?? {});
  const basis = `${count(row.samples)} samples, each weighted by the time it stands for`;
  const figures: [string, string, number][] = [
    ["Mean", "Mean over time.", row.mean],
    ["Median", "Median over time.", row.p50],
    ["p95", "95th percentile over time.", row.p95],
    ["Highest", "The highest sample.", row.max],
  ];
  return (
    <>
      {host !== null && <p class="basis">{host}</p>}
      <div class="active-time" title={`${ACTIVE[of]} Of ${basis}.`}>
        <span>
          Active{" "}
          <b data-testid={`${of}-active`} data-value={row.active}>
            {percent(row.active)}
          </b>
        </span>
        <span
          class="stack-bar thin"
          role="img"
          aria-label={`${TITLES[of]}: active ${percent(row.active)}, idle ${percent(row.idle)}`}
        >
          <span class="stack-part" style={{ flexGrow: row.active, background: color }} />
          <span class="stack-part idle" style={{ flexGrow: row.idle }} />
        </span>
        <span>
          idle <b>{percent(row.idle)}</b> of the time
        </span>
      </div>
      <dl class="figures tight">
        {figures.map(([label, title, value]) => (
          <div key={label} title={`${title} ${basis}.`}>
            <dt>{label}</dt>
            <dd data-testid={`${of}-${label.toLowerCase()}`} data-value={value}>
              {percent(value)}
            </dd>
          </div>
        ))}
      </dl>
      {each.length > 1 && <Each means={each} row={row} />}
    </>
  );
}

/** Each GPU as a bar of its mean, so that the one that works less than the others is seen. */
function Each({ means, row }: { means: [string, number][]; row: ResourceRow }): JSX.Element {
  return (
    <dl class="each-gpu" aria-label="Mean utilisation of each GPU">
      {means.map(([index, mean]) => (
        <div key={index} title={`Mean over time; active ${percent(row.active_by_index?.[index] ?? null)} of the time.`}>
          <dt>GPU {index}</dt>
          <dd data-testid="gpu-mean-of-one" data-value={mean}>
            <Meter ratio={mean} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Curves(props: { series: Series[]; interval: number | null; of: Processor }): JSX.Element | null {
  const { series, interval, of } = props;
  const now = theme.value;
  const option = useMemo(() => utilisationOption(series, now, of === "gpu" ? GPU_COLOR : 0), [series, now, of]);
  if (series.length === 0) return null;
  return (
    <>
      <Chart option={option} label={`${TITLES[of]} over time`} height={150} testId={`${of}-utilisation-chart`} />
      <p class="chart-note">
        {interval ? `Sampled every ${duration(interval * 1e6)}. ` : ""}Time since the monitor started.
      </p>
    </>
  );
}

function curvesData(series: readonly Series[], answer: ResourcesAnswer | null): CardData {
  const zero = Math.min(...series.map((one) => one.t[0] ?? Infinity));
  return {
    columns: [
      { label: "Of", unit: "text" },
      { label: "Time", unit: "ns", title: "Since the monitor started." },
      { label: "Mean", unit: "ratio", title: "Of the samples that the point stands for." },
      { label: "Lowest", unit: "ratio" },
      { label: "Highest", unit: "ratio" },
    ],
    rows: answer
      ? series.flatMap((one) => one.t.map((t, i) => [one.label, t - zero, one.mean[i], one.min[i], one.max[i]]))
      : [],
  };
}
