// The Summary tab: what the worker is, how long its steps take, where the time goes, and what the data lacks.

import type { JSX } from "preact";
import { overview, resources, summary } from "../data";
import { Cards } from "../ui/cards";
import { Await } from "../ui/states";
import { Communication } from "./communication";
import { Copies, Launching } from "./device-traffic";
import { Facts } from "./facts";
import { GpuUse, IdleTime, Precision } from "./gpu";
import { HotSpots } from "./hotspots";
import { Memory } from "./memory";
import { Notes } from "./notes";
import { StepTime, Utilisation } from "./summary-charts";
import { SyncCalls } from "./sync";
import { Tiles } from "./tiles";
import { TimeGoes } from "./time-goes";

export function SummaryTab(): JSX.Element {
  return (
    <div class="page">
      <Await of={summary.now.value} what="the summary">
        {(answer) => (
          <>
            <Facts answer={answer} steps={overview.now.value.value} resources={resources.now.value.value} />
            <Tiles answer={answer} steps={overview.now.value.value} />
            <Cards>
              <TimeGoes worker={answer.worker} coverage={answer.coverage} />
              <StepTime />
              <GpuUse worker={answer.worker} />
              <Utilisation />
            </Cards>
            <HotSpots worker={answer.worker} />
            <Cards>
              <IdleTime idle={answer.worker.idle} />
              <Precision worker={answer.worker} />
              <Communication data={answer.worker.communication} />
              <Memory worker={answer.worker} />
              <SyncCalls data={answer.worker.synchronisation} />
              <Copies memcpy={answer.worker.memcpy} />
              <Launching launches={answer.worker.launches} />
            </Cards>
            <Notes worker={answer.worker} findings={answer.findings ?? []} refused={answer.refused} />
          </>
        )}
      </Await>
    </div>
  );
}
