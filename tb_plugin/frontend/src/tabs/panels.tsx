// The panels of the Summary tab, from the steps down to what the capture lacks. A panel without data shows nothing;
// the last card says which those are, and why.

import type { JSX } from "preact";
import type { SummaryAnswer } from "../api";
import { Section } from "../ui/cards";
import { Communication } from "./communication";
import { GpuActivity, MemoryOperations } from "./device-mix";
import { HardwareCounters } from "./device-counters";
import { Launching } from "./device-traffic";
import { DeviceUnits } from "./device-units";
import { GpuUse, IdleTime, Precision } from "./gpu";
import { Histograms, StepDistribution } from "./histograms";
import { HotSpots } from "./hotspots";
import { Batches, Requests } from "./inference";
import { JobTimes } from "./job-times";
import { Memory } from "./memory";
import { NotMeasured } from "./not-measured";
import { OperatorModes } from "./operator-modes";
import { StepTime } from "./summary-charts";
import { SyncCalls } from "./sync";
import { TfDataPipeline } from "./tf-data";
import { TimeGoes } from "./time-goes";
import { TopKernels } from "./top-kernels";
import { Utilisation } from "./utilisation";

export function Panels({ answer }: { answer: SummaryAnswer }): JSX.Element {
  const { worker } = answer;
  return (
    <>
      <Section title="Inference">
        <Requests data={worker.inference} />
        <Batches data={worker.inference} />
      </Section>
      <Section title="Steps">
        <TimeGoes worker={worker} coverage={answer.coverage} />
        <StepTime />
        <StepDistribution answer={answer} />
        <JobTimes worker={worker} />
        <TfDataPipeline data={worker.tf_data} />
      </Section>
      <Section title="Processors">
        <GpuUse worker={worker} />
        <IdleTime idle={worker.idle} />
        <DeviceUnits worker={worker} />
        <HardwareCounters data={worker.device_counters} />
        <Utilisation answer={answer} of="gpu" />
        <Utilisation answer={answer} of="cpu" />
        <GpuActivity worker={worker} />
        <Precision worker={worker} />
        <OperatorModes worker={worker} />
      </Section>
      <Section title="Kernels">{(worker.kernels ?? []).length > 0 && <TopKernels />}</Section>
      <HotSpots worker={worker} />
      <Section title="Between host and devices">
        <Communication data={worker.communication} />
        <SyncCalls data={worker.synchronisation} />
        <MemoryOperations worker={worker} />
        <Launching launches={worker.launches} />
        <Memory worker={worker} />
      </Section>
      <Section title="Histograms of your choice">
        <Histograms />
      </Section>
      <NotMeasured answer={answer} />
    </>
  );
}
