// The Summary tab: what the worker is, how long its steps take, where the time goes, and what the data lacks.

import type { JSX } from "preact";
import type { SummaryAnswer } from "../api";
import { key, overview, resources, summary } from "../data";
import { Await } from "../ui/states";
import { Facts } from "./facts";
import { Findings } from "./findings";
import { Notes } from "./notes";
import { Panels } from "./panels";
import { Tiles } from "./tiles";
import { Verdict } from "./verdict";

export function SummaryTab(): JSX.Element {
  return (
    <div class="page">
      <Await of={summary.now.value} what="the summary">
        {(answer) => (
          <>
            <Facts answer={answer} steps={overview.now.value.value} resources={resources.now.value.value} />
            <Verdict
              verdict={answer.verdict}
              findings={answer.findings ?? []}
              at={key.value}
              originNs={answer.origin_ns}
            />
            {isUnknown(answer) && <Notes worker={answer.worker} refused={answer.refused} />}
            <Tiles answer={answer} steps={overview.now.value.value} />
            <Findings
              findings={answer.findings ?? []}
              but={answer.verdict?.rule ? [answer.verdict.rule] : []}
              at={key.value}
              originNs={answer.origin_ns}
            />
            <Panels answer={answer} />
            {!isUnknown(answer) && <Notes worker={answer.worker} refused={answer.refused} />}
          </>
        )}
      </Await>
    </div>
  );
}

/** Nothing to judge, as of a file that cannot be read: the notes tell why, so they come first. */
const isUnknown = ({ verdict, worker }: SummaryAnswer) =>
  verdict?.severity === "unknown" && (worker.quality ?? []).length > 0;
