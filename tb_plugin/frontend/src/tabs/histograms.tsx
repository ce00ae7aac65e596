// How the durations of steps are spread, and those of any region that the reader names.

import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import type { SummaryAnswer } from "../api";
import { getHistogram, getNames, type Chosen, type HistogramAnswer } from "../dashboard/requests";
import { DEFINITIONS } from "../definitions";
import { count, duration, plural } from "../format";
import { adjustDashboard, nav } from "../state";
import { Card } from "../ui/card";
import { useFetched } from "../ui/fetched";
import { Durations, durationsData } from "../ui/histogram";
import { Icon } from "../ui/icons";
import { Absent, Await } from "../ui/states";
import { useStatistics } from "./use-statistics";

const EVERY_STEP: Chosen = { only: "all", first: null, last: null, t0: null, t1: null };
const FEWEST = 2;

/** Nothing for a single step: the tiles tell all of it. */
export function StepDistribution({ answer }: { answer: SummaryAnswer }): JSX.Element | null {
  const complete = answer.step_time_ns?.count ?? 0;
  return complete < FEWEST ? null : <StepDistributionCard />;
}

function StepDistributionCard(): JSX.Element {
  const loaded = useStatistics(EVERY_STEP, { by: "activity", host: false });
  const found = loaded.value;
  const data = found?.histogram && found.time_ns ? { histogram: found.histogram, time: found.time_ns } : null;
  return (
    <Card
      title="Step time distribution"
      definition={DEFINITIONS.stepDuration}
      basis={
        found &&
        `${plural(found.time_ns?.count ?? 0, "complete step")}${found.incomplete > 0 ? `; ${count(found.incomplete)} cut at the edge of the capture left out` : ""}`
      }
      data={data ? () => durationsData(data.histogram, data.time, "steps") : undefined}
      testId="step-distribution"
    >
      <Await of={loaded} what="the step times">
        {() => data && <Durations {...data} what={["step", "steps"]} testId="step-spread" />}
      </Await>
    </Card>
  );
}

/** The histograms that the reader asked for, and the way to ask for one more. */
export function Histograms(): JSX.Element {
  const { histograms } = nav.value.dashboard;
  return (
    <>
      {histograms.map((name) => (
        <NamedHistogram key={name} name={name} />
      ))}
      <AddHistogram shown={histograms} />
    </>
  );
}

const KINDS: Record<NonNullable<HistogramAnswer["kind"]>, [string, string]> = {
  annotation: ["run of this annotation", "runs of this annotation"],
  phase: ["run of this phase", "runs of this phase"],
  operator: ["call of this operator", "calls of this operator"],
  module: ["call of this module", "calls of this module"],
  call: ["runtime call", "runtime calls"],
};

function NamedHistogram({ name }: { name: string }): JSX.Element {
  const loaded = useFetched(`histogram ${name}`, (key, signal) => getHistogram(key, name, signal));
  const found = loaded.value;
  const data = found?.histogram && found.time_ns ? { histogram: found.histogram, time: found.time_ns } : null;
  const remove = () => adjustDashboard({ histograms: nav.peek().dashboard.histograms.filter((one) => one !== name) });
  return (
    <Card
      title={name}
      definition={`Durations on the host of everything named “${name}”: an annotation if there is one, else a phase, an operator, a module or a runtime call.`}
      basis={
        found?.kind && (
          <>
            {plural(found.count, ...KINDS[found.kind])}, {duration(found.total_ns)} in all
          </>
        )
      }
      actions={
        <button
          type="button"
          class="icon-button no-picture"
          title={`Remove the histogram of ${name}`}
          aria-label={`Remove the histogram of ${name}`}
          onClick={remove}
        >
          <Icon shape="close" />
        </button>
      }
      data={data ? () => durationsData(data.histogram, data.time, "runs") : undefined}
      testId="histogram"
    >
      <Await of={loaded} what="the durations">
        {() =>
          data ? (
            <Durations {...data} what={["run", "runs"]} testId="histogram-spread" />
          ) : (
            <Absent>Nothing in this worker has this name. Names are matched whole, upper and lower case apart.</Absent>
          )
        }
      </Await>
    </Card>
  );
}

function AddHistogram({ shown }: { shown: readonly string[] }): JSX.Element {
  const names = useFetched("names of annotations", getNames).value;
  const [text, setText] = useState("");
  const list = useId();
  const add = (name: string) => {
    if (name === "" || shown.includes(name)) return;
    adjustDashboard({ histograms: [...shown, name] });
    setText("");
  };
  const offered = (names?.annotations ?? []).filter(({ name }) => !shown.includes(name));
  return (
    <Card title="Add a histogram" testId="add-histogram">
      <form
        class="add-histogram"
        onSubmit={(event) => {
          event.preventDefault();
          add(text);
        }}
      >
        <input
          type="text"
          list={list}
          value={text}
          placeholder="name of an annotation"
          aria-label="Name of an annotation, phase, operator, module or runtime call"
          data-testid="histogram-name"
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <datalist id={list}>
          {offered.map(({ name, count: n }) => (
            <option key={name} value={name}>
              {plural(n, "run")}
            </option>
          ))}
        </datalist>
        <button type="submit" class="button" disabled={text === "" || shown.includes(text)}>
          Add
        </button>
      </form>
      <p class="chart-note">
        {names === null
          ? ""
          : names.count > 0
            ? `${plural(names.count, "annotation")} to choose from. `
            : "The code names no regions: stepscope.annotate(name) does. "}
        Phases, operators, modules and runtime calls work too, by their exact name.
      </p>
      {offered.length > 0 && (
        <p class="chips">
          {offered.slice(0, MOST_CHIPS).map(({ name }) => (
            <button
              key={name}
              type="button"
              class="chip"
              title={`Add a histogram of ${name}`}
              onClick={() => add(name)}
            >
              <bdi>{name}</bdi>
            </button>
          ))}
        </p>
      )}
    </Card>
  );
}

const MOST_CHIPS = 6;
