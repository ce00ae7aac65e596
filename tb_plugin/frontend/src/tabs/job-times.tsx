// Where the time of the whole job went around its steps: getting ready, the training loop, and what followed it.

import type { JSX } from "preact";
import type { WorkerSummary } from "../api";
import { DEFINITIONS } from "../definitions";
import { duration } from "../format";
import { SERIES_COLORS } from "../palette";
import { theme } from "../state";
import { partsData, StackedBar, type Part } from "../ui/bar";
import { Card } from "../ui/card";

/** Nothing of an imported trace, which does not tell when its job began. */
export function JobTimes({ worker }: { worker: WorkerSummary }): JSX.Element | null {
  const { job } = worker;
  if (!job) return null;
  const colors = SERIES_COLORS[theme.value];
  const told: [keyof typeof job, string, string, number][] = [
    ["initialisation_ns", "Before the first step", DEFINITIONS.jobInitialisation, 5],
    ["steps_ns", "In steps", DEFINITIONS.jobSteps, 0],
    ["between_ns", "Between steps", DEFINITIONS.jobBetween, 2],
    ["finalisation_ns", "After the last step", DEFINITIONS.jobFinalisation, 6],
  ];
  const total = told.reduce((sum, [key]) => sum + (job[key] ?? 0), 0);
  const parts: Part[] = told.flatMap(([key, label, title, color]) => {
    const ns = job[key];
    return ns ? [{ key, label, title, ns, ratio: ns / total, color: colors[color] }] : [];
  });
  if (parts.length === 0) return null;
  return (
    <Card
      title="The job over time"
      definition="The whole time that was recorded, in four parts that sum to it."
      basis={`${duration(total)} in all${job.finalisation_ns === null ? " so far; the job has not said that it ended" : ""}`}
      data={() => partsData("Part", parts)}
      isTable
      testId="job-times"
    >
      <StackedBar name="Part" testId="job" perStep={0} parts={parts} />
    </Card>
  );
}
