// The charts of the Summary tab: step time over the steps, CPU and GPU utilisation over time.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Series } from "../api";
import { Chart } from "../charts/echarts";
import { utilisationOption, utilisationSeries } from "../charts/resources";
import { cutOf } from "../charts/scale";
import { nearestStep, stepAxis, stepTimeOption } from "../charts/step-time";
import { resources, steps } from "../data";
import { DEFINITIONS } from "../definitions";
import { duration, plural } from "../format";
import { theme } from "../state";
import type { Steps } from "../steps";
import { Await } from "../ui/states";
import { CutNote } from "./cut-note";
import { openStep } from "./open-step";

export function StepTime(): JSX.Element | null {
  if (steps.now.value.value?.count === 0) return null;
  return (
    <section class="card">
      <h2 title={DEFINITIONS.stepDuration}>Step time</h2>
      <Await of={steps.now.value} what="the steps">
        {(all) => <StepTimeChart all={all} />}
      </Await>
    </section>
  );
}

function StepTimeChart({ all }: { all: Steps }): JSX.Element {
  const now = theme.value;
  const [uncut, setUncut] = useState(false);
  const cut = useMemo(() => cutOf(all.duration), [all]);
  const top = uncut ? null : (cut?.top ?? null);
  const option = useMemo(() => stepTimeOption(all, now, top), [all, now, top]);
  const open = (x: number) => {
    const i = nearestStep(stepAxis(all.id), x);
    if (i >= 0) openStep(all, i);
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
        Click a step to open it in the timeline; ctrl + wheel zooms.
        {cut && <CutNote cut={cut} open={uncut} onToggle={() => setUncut(!uncut)} />}
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
