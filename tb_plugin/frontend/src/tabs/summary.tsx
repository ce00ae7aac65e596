// The Summary tab: what the worker is, how long its steps take, where the time goes, and what the data lacks.

import type { JSX } from "preact";
import { overview, resources, summary } from "../data";
import { Await } from "../ui/states";
import { Facts } from "./facts";
import { Notes } from "./notes";
import { Panels } from "./panels";
import { Tiles } from "./tiles";

export function SummaryTab(): JSX.Element {
  return (
    <div class="page">
      <Await of={summary.now.value} what="the summary">
        {(answer) => (
          <>
            <Facts answer={answer} steps={overview.now.value.value} resources={resources.now.value.value} />
            <Tiles answer={answer} steps={overview.now.value.value} />
            <Panels answer={answer} />
            <Notes worker={answer.worker} findings={answer.findings ?? []} refused={answer.refused} />
          </>
        )}
      </Await>
    </div>
  );
}
