// The charts of the Summary tab: step time over the steps, CPU and GPU utilisation over time.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { OverviewAnswer, Series } from "../api";
import { Chart } from "../charts/echarts";
import { utilisationOption, utilisationSeries } from "../charts/resources";
import { cutOf } from "../charts/scale";
import { nearestStep, stepAxis, stepTimeOption } from "../charts/step-time";
import { overview, resources } from "../data";
import { DEFINITIONS } from "../definitions";
import { count, duration, plural } from "../format";
import { theme } from "../state";
import { Await } from "../ui/states";
import { CutNote } from "./cut-note";
import { openStep } from "./open-step";

export function StepTime(): JSX.Element | null {
  const { value } = overview.now.value;
  if (value && value.count < 2) return null; // the tiles tell all of a single step
  return (
    <section class="card">
      <h2 title={DEFINITIONS.stepDuration}>Step time</h2>
      <Await of={overview.now.value} what="the steps">
        {(all) => <StepTimeChart all={all} />}
      </Await>
    </section>
  );
}

function StepTimeChart({ all }: { all: OverviewAnswer }): JSX.Element {
  const now = theme.value;
  const [uncut, setUncut] = useState(false);
  const cut = useMemo(() => cutOf(all.duration), [all]);
  const top = uncut ? null : (cut?.top ?? null);
  const option = useMemo(() => stepTimeOption(all, now, top), [all, now, top]);
  const sampled = all.index.length < all.count;
  const open = (x: number) => {
    const i = nearestStep(stepAxis(all.id, all.index), x);
    if (i >= 0) openStep(all.origin_ns, all, i);
  };
  return (
    <>
      <Chart
        option={option}
        label={`Step time over ${plural(all.count, "step")}`}
        height={210}
        testId="step-time-chart"
        onClick={open}
      />
      <p class="chart-note">
        {sampled
          ? `Drawn: the shortest and the longest steps of each stretch, ${count(all.index.length)} of ${count(all.count)}. `
          : ""}
        Click a step to open it in the timeline; ctrl + wheel zooms.
        {cut && <CutNote cut={cut} open={uncut} sampled={sampled} onToggle={() => setUncut(!uncut)} />}
      </p>
    </>
  );
}

export function Utilisation(): JSX.Element | null {
  const { value } = resources.now.value;
  const series = useMemo(() => (value ? utilisationSeries(value) : []), [value]);
  if (value && series.length === 0) return null; // no monitor: the facts say so
  return (
    <section class="card">
      <h2 title={`${DEFINITIONS.cpu}\n${DEFINITIONS.gpuUtil}`}>CPU and GPU utilisation</h2>
      <Await of={resources.now.value} what="the resource curves">
        {(answer) => <UtilisationChart series={series} interval={answer.interval_ms} />}
      </Await>
    </section>
  );
}

function UtilisationChart({ series, interval }: { series: Series[]; interval: number | null }): JSX.Element {
  const now = theme.value;
  const option = useMemo(() => utilisationOption(series, now), [series, now]);
  return (
    <>
      <Chart option={option} label="CPU and GPU utilisation over time" height={210} testId="utilisation-chart" />
      <p class="chart-note">
        {interval ? `Sampled every ${duration(interval * 1e6)}. ` : ""}Time since the monitor started.
      </p>
    </>
  );
}
