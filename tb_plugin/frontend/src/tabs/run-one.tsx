// A tab that shows one worker at a time, while all are chosen: which one to take.

import type { JSX } from "preact";
import { bySlowness, rankName, reasonText, signed } from "../run";
import { useRunSummary } from "../run-data";
import { openWorker } from "../state";
import { Await } from "../ui/states";

const SUGGESTED = 5;

export function OneWorkerOnly({ what }: { what: string }): JSX.Element {
  const found = useRunSummary();
  return (
    <div class="page">
      <div class="state" data-testid="one-worker-only">
        <p class="state-title">{what} shows one worker at a time</p>
        <p class="state-detail">Choose one above, or one of the slowest:</p>
        <Await of={found} what="the workers" first="Summing up the workers for the first time">
          {(summary) => {
            const { run, ranks } = summary;
            return (
              <ul class="suggested">
                {bySlowness(summary)
                  .slice(0, SUGGESTED)
                  .map((i) => (
                    <li key={ranks.worker[i]}>
                      <button type="button" class="text-button" onClick={() => openWorker(run, ranks.worker[i])}>
                        <bdi>{rankName(ranks, i)}</bdi>
                      </button>
                      <span class="num">{ranks.delta_ns[i] !== null && `${signed(ranks.delta_ns[i])} a step`}</span>
                      <span class="faint">{reasonText(ranks, i)}</span>
                    </li>
                  ))}
              </ul>
            );
          }}
        </Await>
      </div>
    </div>
  );
}
