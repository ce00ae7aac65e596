// The Summary tab: what the worker is, how long its steps take, where the time goes, and what the data lacks.

import type { JSX } from "preact";
import { resources, steps, summary } from "../data";
import { Await } from "../ui/states";
import { Facts } from "./facts";
import { DeviceTraffic } from "./device-traffic";
import { HotSpots } from "./hotspots";
import { Notes } from "./notes";
import { StepTime, Utilisation } from "./summary-charts";
import { Tiles } from "./tiles";
import { TimeGoes } from "./time-goes";

export function SummaryTab(): JSX.Element {
  return (
    <div class="page">
      <Await of={summary.now.value} what="the summary">
        {(answer) => (
          <>
            <Facts answer={answer} steps={steps.now.value.value} resources={resources.now.value.value} />
            <Tiles answer={answer} steps={steps.now.value.value} />
            <div class="columns">
              <TimeGoes worker={answer.worker} />
              <StepTime />
              <Utilisation />
            </div>
            <HotSpots worker={answer.worker} />
            <DeviceTraffic worker={answer.worker} />
            <Notes worker={answer.worker} findings={answer.findings ?? []} refused={answer.refused} />
          </>
        )}
      </Await>
    </div>
  );
}
