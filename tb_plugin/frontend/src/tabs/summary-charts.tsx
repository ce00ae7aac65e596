// The step time over the steps.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { OverviewAnswer } from "../api";
import { Chart } from "../charts/echarts";
import { cutOf } from "../charts/scale";
import { nearestStep, stepAxis, stepTimeOption } from "../charts/step-time";
import { overview } from "../data";
import { DEFINITIONS } from "../definitions";
import { count, plural } from "../format";
import { theme } from "../state";
import { Card, type CardData } from "../ui/card";
import { Await } from "../ui/states";
import { CutNote } from "./cut-note";
import { openStep } from "./open-step";

export function StepTime(): JSX.Element | null {
  const { value } = overview.now.value;
  if (value && value.count < 2) return null; // the tiles tell all of a single step
  return (
    <Card
      title="Step time over the run"
      definition={DEFINITIONS.stepDuration}
      data={value ? () => stepsData(value) : undefined}
    >
      <Await of={overview.now.value} what="the steps">
        {(all) => <StepTimeChart all={all} />}
      </Await>
    </Card>
  );
}

function stepsData(all: OverviewAnswer): CardData {
  return {
    columns: [
      { label: "Position", unit: "id", title: "Among all steps, from 0." },
      { label: "Step", unit: "id" },
      { label: "Marker", unit: "text" },
      { label: "Duration", unit: "ns", title: DEFINITIONS.stepDuration },
      { label: "Host", unit: "ns", title: DEFINITIONS.stepHost },
      { label: "Complete", unit: "flag" },
    ],
    rows: all.index.map((index, i) => [index, all.id[i], all.label[i], all.duration[i], all.host[i], all.complete[i]]),
  };
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
        <span class="no-picture">Click a step to open it in the timeline; ctrl + wheel zooms.</span>
        {cut && <CutNote cut={cut} open={uncut} sampled={sampled} onToggle={() => setUncut(!uncut)} />}
      </p>
    </>
  );
}
