// In words: whether a worker of a run is slow, which one, in what, and what it costs. Where a rule found the same, with
// what the rule tells of it.

import { Fragment, type JSX } from "preact";
import { DEFINITIONS } from "../definitions";
import { count, duration, percent, plural } from "../format";
import { bySlowness, measureLabel, rankName, reasonText, signed, type Ranks, type RunSummary } from "../run";
import { openWorker } from "../state";
import { Banner } from "./verdict";

const MOST_NAMED = 8;
const MOST_OTHERS = 3;
const NOTABLE = 0.02; // of the median step
/** The rule that tells of the same as the comparison. */
const STRAGGLER = "straggler";
const UNEVEN = 0.03; // of the slowest worker's time: below it the differences are those of any machine

/** The most important finding, as for one worker, and how the workers compare. */
export function Verdict({ run }: { run: RunSummary }): JSX.Element {
  const [first] = run.findings;
  return (
    <>
      {first && first.rule !== STRAGGLER && (
        <Banner severity={first.severity} finding={first} at={null} originNs="0" sentence={first.message}>
          {first.workers.length === 1 && run.ranks.worker.length > 1 && (
            <p class="faint">Found in {nameOf(run, first.workers[0])} only.</p>
          )}
        </Banner>
      )}
      <Comparison run={run} />
    </>
  );
}

const nameOf = ({ ranks }: RunSummary, worker: string) =>
  ranks.worker.includes(worker) ? rankName(ranks, ranks.worker.indexOf(worker)) : worker;

/** Rules whose findings the verdict tells in full. */
export const toldRules = (run: RunSummary): string[] => [STRAGGLER, ...run.findings.slice(0, 1).map((f) => f.rule)];

function Comparison({ run }: { run: RunSummary }): JSX.Element {
  const { across_workers: across, ranks } = run;
  const [rank] = ranks.rank;
  if (rank !== null && ranks.rank.every((other) => other === rank)) {
    return (
      <p class="run-verdict" data-testid="run-verdict">
        All of these are recordings of rank {rank}: none of them waited for another.
      </p>
    );
  }
  const found = across?.imbalance;
  if (!across || !found || found.excess_ns === null) {
    return (
      <div class="run-verdict" data-testid="run-verdict">
        <p>
          {run.coverage.steps === 0
            ? "No worker has a step: there is nothing to compare."
            : `No two workers measured ${found?.measure === "own" ? "the parts of " : ""}the same step: only the means of each stand beside each other.`}
        </p>
        <EndEarly ranks={ranks} />
      </div>
    );
  }
  const worst = slowestRank(run);
  const uneven = (found.ratio ?? 0) >= UNEVEN;
  const straggler = run.findings.find((finding) => finding.rule === STRAGGLER) ?? null;
  const sentence =
    uneven && worst !== null ? (
      <>
        <button type="button" class="text-link" onClick={() => openWorker(run.run, ranks.worker[worst])}>
          {rankName(ranks, worst)}
        </button>{" "}
        {2 * (ranks.slowest[worst] ?? 0) > found.steps
          ? "holds the others up"
          : "is furthest behind, though not throughout"}
        : it is the slowest in {count(ranks.slowest[worst])} of {plural(found.steps, "step")},{" "}
        {signed(ranks.delta_ns[worst])} a step against the median worker
        {reasonText(ranks, worst) && <>, mostly in {reasonText(ranks, worst)}</>}.
      </>
    ) : (
      (straggler?.message ?? "The workers are even: no worker is slow in a way that matters.")
    );
  return (
    <div class="run-verdict" data-testid="run-verdict">
      {straggler ? (
        <Banner severity={straggler.severity} finding={straggler} at={null} originNs="0" sentence={sentence}>
          {null}
        </Banner>
      ) : (
        <p>{sentence}</p>
      )}
      <Others run={run} but={uneven ? worst : null} />
      <p class="faint" title={DEFINITIONS.imbalance}>
        In each step the slowest worker takes {duration(found.excess_ns)} ({percent(found.ratio)} of its time) more than
        the mean of all, compared by the {measureLabel(found.measure).toLowerCase()} over {plural(found.steps, "step")}.
        {across.attempts > 1 &&
          ` The job was started ${count(across.attempts)} times: only workers of the same attempt are compared.`}
        {across.shared_steps === 0 && " No step was seen by all workers."}
        {run.stale > 0 && ` ${staleText(run)}`}
      </p>
      <EndEarly ranks={ranks} />
      {(across.missing_rank_count ?? 0) > 0 && (
        <p class="banner warn" role="status" data-testid="ranks-missing">
          {plural(across.missing_rank_count ?? 0, "rank")} of {count(across.world_size)}{" "}
          {across.missing_rank_count === 1 ? "is" : "are"} missing here: {named(across.missing_ranks ?? [])}
        </p>
      )}
    </div>
  );
}

/** Workers whose data are cut off. */
function EndEarly({ ranks }: { ranks: Ranks }): JSX.Element | null {
  const early = ranks.worker.map((_, i) => i).filter((i) => ranks.ends_early[i]);
  if (early.length === 0) return null;
  const names = early.slice(0, MOST_NAMED).map((i) => rankName(ranks, i));
  const [file, its] = early.length === 1 ? ["file", "its"] : ["files", "their"];
  return (
    <p class="banner warn" role="status" data-testid="ranks-early">
      The {file} of <bdi>{names.join(", ")}</bdi>
      {early.length > MOST_NAMED && `, and ${plural(early.length - MOST_NAMED, "other")},`}{" "}
      {early.length === 1 ? "ends" : "end"} early: {its} whole steps count, but what those consist of and {its}{" "}
      collectives are not compared.
    </p>
  );
}

/** Workers of an ended run wrote nothing: another version of stepscope summed them up, or too early. */
function staleText({ stale, live }: RunSummary): string {
  const workers = plural(stale, "worker");
  if (live > 0) return `${workers} wrote since; being summed up again.`;
  return `${workers} ${stale === 1 ? "is" : "are"} being summed up again; until then an earlier state is shown.`;
}

/** Other workers with a part that takes notably more than that of the median worker. */
function Others({ run, but }: { run: RunSummary; but: number | null }): JSX.Element | null {
  const { ranks } = run;
  const least = NOTABLE * (run.step_time_ns?.p50 ?? Infinity);
  const notable = ranks.worker
    .map((_, i) => i)
    .filter((i) => i !== but && (ranks.excess_ns[i] ?? 0) >= least && reasonText(ranks, i) !== null);
  if (notable.length === 0) return null;
  notable.sort((a, b) => (ranks.excess_ns[b] ?? 0) - (ranks.excess_ns[a] ?? 0));
  return (
    <p data-testid="run-others">
      {but === null ? "The largest differences to the median worker" : "Also slower than the median worker"}, a step:{" "}
      {notable.slice(0, MOST_OTHERS).map((i, at) => (
        <Fragment key={ranks.worker[i]}>
          {at > 0 && "; "}
          <button type="button" class="text-link" onClick={() => openWorker(run.run, ranks.worker[i])}>
            {rankName(ranks, i)}
          </button>
          : {reasonText(ranks, i)}
        </Fragment>
      ))}
      {notable.length > MOST_OTHERS && `, and ${plural(notable.length - MOST_OTHERS, "other")}`}.
    </p>
  );
}

const named = (ranks: readonly number[]) =>
  ranks.slice(0, MOST_NAMED).join(", ") + (ranks.length > MOST_NAMED ? ", …" : "");

/** The worker that is furthest beyond the median; null where none is. */
function slowestRank(run: RunSummary): number | null {
  const [worst] = bySlowness(run);
  return (run.ranks.delta_ns[worst] ?? 0) > 0 ? worst : null;
}
