// The Compare tab: the shown worker (B) beside another one (A), usually of an earlier run.

import type { JSX } from "preact";
import type { RunInfo } from "../api";
import { nav, navigate, openWorker, part } from "../state";
import { runs, shown } from "../data";
import type { Against } from "../hash";
import { isolated } from "../timeline/text";
import { useFetched } from "../ui/fetched";
import { Picker } from "../ui/picker";
import { runChoice, workerChoice, workerLabel, workerOrder } from "../ui/run-choices";
import { Await, Problem } from "../ui/states";
import { Headline } from "./compare-headline";
import { ComparedPart } from "./compare-parts";
import { getComparedWith, type Comparison } from "./compare-requests";
import { Verdict } from "./compare-verdict";
import { WorkTable } from "./compare-work";

const SUGGESTED = 5;
const against = part("against");

export function CompareTab(): JSX.Element {
  const all = runs.now.value.value?.runs ?? [];
  const chosen = against.value;
  const run = chosen && (all.find((one) => one.id === chosen.run) ?? null);
  const worker = run && chosen && workerOf(run, chosen.worker);
  return (
    <div class="page compare-page">
      <div class="toolbar wrap">
        <Picker
          label="Other run"
          testId="compare-run"
          value={chosen?.run ?? null}
          choices={all.filter((one) => one.workers.length > 0).map(runChoice)}
          onChoose={(id) => navigate({ against: sameRank(id) })}
        />
        {chosen && (
          <Picker
            label="Other worker"
            testId="compare-worker"
            value={worker?.id ?? chosen.worker}
            choices={workerOrder(run).map(workerChoice)}
            onChoose={(id) => navigate({ against: { run: chosen.run, worker: id } })}
          />
        )}
        {run && worker && (
          <button type="button" class="button" data-testid="compare-swap" onClick={() => swap(run.id, worker.id)}>
            Swap
          </button>
        )}
      </div>
      {run && worker ? (
        <Compared run={run.id} worker={worker.id} />
      ) : chosen ? (
        <Problem
          title={
            run
              ? `There is no worker “${isolated(chosen.worker ?? "")}” in ${isolated(run.name)}`
              : `There is no run “${isolated(chosen.run)}”`
          }
          detail="The link may be from another log directory, or the run was removed. Choose another one."
        />
      ) : (
        <Suggestions />
      )}
    </div>
  );
}

/** Null: the first one of the run. */
const workerOf = (run: RunInfo, id: string | null) =>
  (id === null ? run.workers[0] : run.workers.find((one) => one.id === id)) ?? null;

/** The worker of a run that has the rank of the one on show, else its first one that is not on show itself. */
function sameRank(id: string): Against {
  const { run: own, worker: ownWorker } = shown.peek();
  const run = runs.now.peek().value?.runs.find((one) => one.id === id) ?? null;
  const others = workerOrder(run).filter((one) => id !== own?.id || one.id !== ownWorker?.id);
  const found = others.find((one) => one.rank === (ownWorker?.rank ?? null)) ?? others[0] ?? run?.workers[0];
  return { run: id, worker: found?.id ?? null };
}

function swap(run: string, worker: string): void {
  const { run: own, worker: ownWorker } = shown.peek();
  if (!own || !ownWorker) return;
  nav.value = { ...nav.peek(), against: { run: own.id, worker: ownWorker.id } };
  openWorker(run, worker);
}

/** What can be compared, the latest run first; of the run on show only if it has other workers. */
function Suggestions(): JSX.Element {
  const { run: own } = shown.value;
  const all = runs.now.value.value?.runs ?? [];
  const others = all.filter((one) => one.workers.length > (one.id === own?.id ? 1 : 0));
  return (
    <div class="state" data-testid="compare-none">
      <p class="state-title">
        {others.length > 0 ? "Choose what to compare this worker with" : "Nothing to compare with"}
      </p>
      {others.length === 0 ? (
        <p class="state-detail">This log directory holds no other run, and this run no other worker.</p>
      ) : (
        <ul class="suggested">
          {others.slice(0, SUGGESTED).map((one) => (
            <li key={one.id}>
              <button type="button" class="text-button" onClick={() => navigate({ against: sameRank(one.id) })}>
                <bdi>{one.name || "(unnamed)"}</bdi>
              </button>
              <span />
              <span class="faint">{one.id === own?.id ? "another worker of this run" : runChoice(one).detail}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Compared({ run, worker }: { run: string; worker: string }): JSX.Element {
  const found = useFetched<Comparison>(
    `${run}\n${worker}`,
    (key, signal) => getComparedWith(key, { run, worker }, signal),
    true,
  );
  return (
    <Await of={found} what="the comparison" first="Reading both runs">
      {(value) => (
        <>
          <Verdict
            found={value}
            label={(side) => sideLabel(side, side === value.a ? run : (shown.value.run?.id ?? ""))}
          />
          <Headline pairs={value.headline} />
          <div class="pair">
            <ComparedPart by="phase" found={value.parts.phase} />
            <ComparedPart by="activity" found={value.parts.activity} />
          </div>
          <WorkTable found={value} />
        </>
      )}
    </Await>
  );
}

/** What the pickers call the worker. */
function sideLabel(side: Comparison["a"], run: string): string {
  const listed = runs.now.value.value?.runs
    .find((one) => one.id === run)
    ?.workers.find((one) => one.id === side.worker);
  return workerLabel(listed ?? { id: side.worker, rank: side.rank, pid: null });
}
