// What is allocated after each step of the deep windows, and which allocations outlive steps: signs of a leak.

import type { JSX } from "preact";
import { DEFINITIONS } from "../definitions";
import { bytes, plural } from "../format";
import { getMemorySteps, type By, type StepsAnswer } from "../time/memory";
import type { TimeView } from "../time/view";
import { Card } from "../ui/card";
import { useFetched } from "../ui/fetched";
import { Absent, Await } from "../ui/states";
import { shareRows, SharesTable } from "./memory-alive";

export function AfterStepsCard(props: { of: number; view: TimeView; onPick: (t: number) => void }): JSX.Element {
  const { of, view } = props;
  const { by } = view;
  const found = useFetched(`memory of steps ${of} ${by}`, async (key, signal) => ({
    ...(await getMemorySteps(key, of, by, signal)),
    by,
  }));
  const answer = found.value;
  return (
    <Card
      title="After each step"
      definition={DEFINITIONS.afterSteps}
      data={answer && answer.count > 0 ? () => stepsData(answer) : undefined}
      testId="after-steps"
    >
      <Await of={found} what="the steps">
        {(steps) =>
          steps.count === 0 ? (
            <Absent>No whole step lies in the deep windows.</Absent>
          ) : (
            <>
              <p class={`growth${steps.growth.is_steady ? " bad" : ""}`} data-testid="growth">
                {growthText(steps)}
              </p>
              {steps.count > 1 && <Bars steps={steps} onPick={props.onPick} />}
              <Outliving steps={steps} by={steps.by} />
            </>
          )
        }
      </Await>
    </Card>
  );
}

export function growthText({ growth, count }: StepsAnswer): string {
  const { changes, rises, per_step_bytes: change } = growth;
  if (changes === 0)
    return `${plural(count, "step")} in the deep windows: a trend needs two or more that follow each other.`;
  const median = `${(change ?? 0) > 0 ? "+" : ""}${bytes(change)} a step`;
  if (growth.is_steady)
    return `Grows after every one of ${plural(count, "step")}, ${median}: it looks like a leak, unless a cache fills.`;
  if (rises === 0) return `No growth over ${plural(count, "step")} (${median}).`;
  return `More after ${rises} of ${changes} steps than after the one before, ${median} (median).`;
}

const MOST_BARS = 60;

/** One bar a step, from the lowest level on: growth is small beside what is always there. */
function Bars({ steps, onPick }: { steps: StepsAnswer; onPick: (t: number) => void }): JSX.Element {
  const from = Math.max(0, steps.step.length - MOST_BARS);
  const shown = steps.step.slice(from).map((number, i) => ({ number, i: from + i }));
  const levels = shown.map(({ i }) => steps.allocated[i]);
  const [low, high] = [Math.min(...levels), Math.max(...levels)];
  const room = Math.max(high - low, 1);
  return (
    <ol class="level-bars" aria-label="Allocated after each step">
      {shown.map(({ number, i }) => {
        const text = `After step ${number < 0 ? i + 1 : number}: ${bytes(steps.allocated[i])}, at most ${bytes(steps.peak[i])} within it`;
        return (
          <li key={i}>
            <button type="button" title={text} aria-label={text} onClick={() => onPick(steps.end[i])}>
              <span style={{ height: `${10 + (90 * (steps.allocated[i] - low)) / room}%` }} />
            </button>
            <small>{number < 0 ? i + 1 : number}</small>
          </li>
        );
      })}
    </ol>
  );
}

function Outliving({ steps, by }: { steps: StepsAnswer; by: By }): JSX.Element {
  const { kept, outlives } = steps;
  if (kept === null) {
    return <Absent>Which allocations outlive steps is not known: the records tell no addresses.</Absent>;
  }
  if (kept.count === 0) return <p class="basis">No allocation of the windows outlives {outlives} steps.</p>;
  return (
    <>
      <p class="basis">
        {plural(kept.count, "allocation")} of the windows, alive at the ends of {outlives} steps or more:
      </p>
      <SharesTable
        by={by}
        rows={shareRows(kept.rows, by)}
        total={{ name: "Outlive steps", count: kept.count, bytes: kept.bytes }}
        testId="outlive"
      />
    </>
  );
}

const stepsData = (answer: StepsAnswer) => ({
  columns: [
    { label: "Step", unit: "id" as const },
    { label: "End", unit: "ns" as const, title: "Since the beginning of the timeline." },
    { label: "Allocated", unit: "bytes" as const, title: "After the step." },
    { label: "Peak", unit: "bytes" as const, title: "The most within the step." },
  ],
  rows: answer.step.map((step, i) => [step < 0 ? null : step, answer.end[i], answer.allocated[i], answer.peak[i]]),
});
