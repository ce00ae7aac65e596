// The steps that count, or a range of them, in numbers: what they divide into, and how their durations are spread.

import type { JSX } from "preact";
import type { StatisticsAnswer } from "../dashboard/requests";
import { DEFINITIONS } from "../definitions";
import { count, duration, exact, plural } from "../format";
import { partsData, StackedBar } from "../ui/bar";
import { Card } from "../ui/card";
import { Durations, durationsData } from "../ui/histogram";
import { Absent } from "../ui/states";
import { nameOf, type By, type Part } from "./step-parts";

const MOST_OUTLIERS = 12;
const FEWEST = 2;

/** "all 20 steps", "steps 3 to 7 (5 steps)". */
export function rangeText(found: StatisticsAnswer, isRange: boolean): string {
  const steps = plural(found.steps, "step");
  if (!isRange) return found.steps === 1 ? "the only step" : `all ${steps}`;
  return found.steps === 0 ? "no step" : `the ${steps} selected`;
}

export function RangeParts(props: {
  found: StatisticsAnswer;
  isRange: boolean;
  by: By;
  parts: readonly Part[];
}): JSX.Element {
  const { found, isRange, by, parts } = props;
  const sums = parts.map((part) => ({ ...part, ns: found.parts[part.key]?.total_ns ?? 0 }));
  const total = sums.reduce((sum, part) => sum + part.ns, 0);
  const shown = sums.filter((part) => part.ns > 0).map((part) => ({ ...part, ratio: part.ns / total }));
  const of = rangeText(found, isRange);
  const partial = found.divided < found.steps ? `${count(found.divided)} of ` : "";
  return (
    <Card
      title={by === "phase" ? "By phase" : "By activity"}
      definition={by === "phase" ? DEFINITIONS.phases : DEFINITIONS.activity}
      basis={total > 0 && `Sum over ${partial}${of}, ${duration(total)}`}
      data={total > 0 ? () => partsData(by === "phase" ? "Phase" : "Activity", shown, found.divided) : undefined}
      isTable
      testId="range-parts"
    >
      {total > 0 ? (
        <StackedBar
          name={by === "phase" ? "Phase" : "Activity"}
          testId="range-part"
          perStep={found.divided}
          parts={shown}
        />
      ) : (
        <Absent>
          {found.steps === 0
            ? "No step is selected."
            : by === "phase"
              ? "None of these steps has phases."
              : "None of these steps was captured in depth."}
        </Absent>
      )}
    </Card>
  );
}

export function RangeSpread(props: {
  found: StatisticsAnswer;
  isRange: boolean;
  onStep: (step: number) => void;
}): JSX.Element {
  const { found, isRange, onStep } = props;
  const { histogram, time_ns: time, outliers, outlier_count: outlierCount } = found;
  const data = histogram && time && time.count >= FEWEST ? { histogram, time } : null;
  const shown = outliers.slice(0, MOST_OUTLIERS);
  return (
    <Card
      title="Distribution"
      definition={DEFINITIONS.stepDuration}
      basis={
        data &&
        `${rangeText(found, isRange)}${found.incomplete > 0 ? `, ${count(found.incomplete)} incomplete left out` : ""}`
      }
      data={data ? () => durationsData(data.histogram, data.time, "steps") : undefined}
      testId="range-spread"
    >
      {data ? (
        <Durations {...data} what={["step", "steps"]} testId="range-time" />
      ) : (
        <Absent>
          {time
            ? `It needs two complete steps. The one here takes ${duration(time.p50)}.`
            : "No complete step is selected: how long a cut one would have been is not known."}
        </Absent>
      )}
      {data && (
        <p class="chart-note" data-testid="outliers" title="A step is an outlier where it takes 1.5 times the median.">
          {outlierCount === 0 ? (
            `No step takes more than 1.5 × the median, ${duration(found.outlier_above_ns)}.`
          ) : (
            <>
              {plural(outlierCount, "outlier")} above {duration(found.outlier_above_ns)}, 1.5 × the median, by
              step:{" "}
            </>
          )}
          {shown.map((step) => (
            <button
              key={step.index}
              type="button"
              class="chip"
              title={`Compare it with the usual step. ${exact(step.ns)}`}
              onClick={() => onStep(step.index)}
            >
              <span>
                <bdi>{nameOf(step.id, step.label, step.index)}</bdi>: {duration(step.ns)}
              </span>
            </button>
          ))}
          {outlierCount > shown.length && ` and ${count(outlierCount - shown.length)} shorter ones`}
        </p>
      )}
    </Card>
  );
}
