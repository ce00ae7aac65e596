// Where the time goes: the phases of the training loop, and the classes of activity of the steps captured in depth.

import type { JSX } from "preact";
import type { Coverage, WorkerSummary } from "../api";
import { DEFINITIONS } from "../definitions";
import { duration, plural } from "../format";
import { ACTIVITIES, ACTIVITY_LABELS, PHASE_LABELS, PHASES, type Activity, type Phase } from "../kinds";
import { ACTIVITY_COLORS, PHASE_COLORS } from "../palette";
import { theme } from "../state";
import { howToMark, sharesOf, type Share } from "../steps";
import { partsData, StackedBar } from "../ui/bar";
import { Card } from "../ui/card";
import { Absent } from "../ui/states";

/** By phase and by activity; phases that were not recorded take no room, their tile says so. */
export function TimeGoes({ worker, coverage }: { worker: WorkerSummary; coverage: Coverage | null }): JSX.Element {
  const count = worker.step_count ?? 0;
  return count > 0 ? <TimeBars worker={worker} count={count} coverage={coverage} /> : <WithoutSteps worker={worker} />;
}

/** Without steps there is nothing to divide; the devices' time over the whole capture still tells where it went. */
function WithoutSteps({ worker }: { worker: WorkerSummary }): JSX.Element {
  const time = worker.timeline_ns;
  const total = time?.total ?? 0;
  const colors = ACTIVITY_COLORS[theme.value];
  const parts = DEVICE_TIME.map(({ key, label, title, color }) => {
    const ns = time?.[key] ?? 0;
    return { key, label, title, color: colors[color], ns, ratio: total > 0 ? ns / total : 0 };
  });
  return (
    <>
      <section class="card">
        <h3>No steps</h3>
        <Absent>
          The data has no step markers, so there are no step times.{" "}
          {howToMark(worker.framework, worker.inference !== null)}
        </Absent>
      </section>
      {total > 0 && (
        <Card
          title="Where the time goes: devices"
          basis={`From the first to the last device event of the capture, ${duration(total)}, all devices merged`}
          data={() => partsData("Device time", parts)}
          isTable
        >
          <StackedBar name="Device time" testId="device-time" perStep={0} parts={parts.filter((part) => part.ns > 0)} />
        </Card>
      )}
    </>
  );
}

const DEVICE_TIME: { key: string; label: string; title: string; color: Activity }[] = [
  { key: "compute", label: "Compute", title: "A compute kernel ran.", color: "kernel" },
  {
    key: "exposed_communication",
    label: "Exposed communication",
    title: DEFINITIONS.classes.communication,
    color: "communication",
  },
  { key: "exposed_memcpy", label: "Exposed memory copy", title: DEFINITIONS.classes.memcpy, color: "memcpy" },
  { key: "exposed_memset", label: "Exposed memory set", title: DEFINITIONS.classes.memset, color: "memset" },
  { key: "idle", label: "Idle", title: "Nothing ran on any device.", color: "other" },
];

function TimeBars(props: { worker: WorkerSummary; count: number; coverage: Coverage | null }): JSX.Element {
  const { worker, count, coverage } = props;
  const phases = { steps: coverage?.phased_steps ?? 0, ...sharesOf(worker.phase_total_ns, PHASES) };
  const activity = { steps: coverage?.deep_steps ?? 0, ...sharesOf(worker.activity_total_ns, ACTIVITIES) };
  const onDevice = { steps: worker.device_phases?.steps ?? 0, ...sharesOf(worker.device_phases?.total_ns, PHASES) };
  const phaseColors = PHASE_COLORS[theme.value];
  const activityColors = ACTIVITY_COLORS[theme.value];
  const phasePart = (share: Share<Phase>) => ({
    ...share,
    label: PHASE_LABELS[share.key],
    title: DEFINITIONS.phaseNames[share.key],
    color: phaseColors[share.key],
  });
  const phaseParts = phases.shares.map(phasePart);
  const deviceParts = onDevice.shares.map((share) => ({ ...phasePart(share), title: DEFINITIONS.devicePhases }));
  const activityParts = activity.shares.map((share) => ({
    ...share,
    label: ACTIVITY_LABELS[share.key],
    title: DEFINITIONS.classes[share.key],
    color: activityColors[share.key],
  }));
  const all = (steps: number) => (steps === count && count > 1 ? "all " : "");
  return (
    <>
      {(phases.total_ns > 0 || activity.total_ns === 0) && (
        <Card
          title="Where the time goes: phases"
          definition={DEFINITIONS.phases}
          basis={
            phases.total_ns > 0 &&
            `Host time of ${all(phases.steps)}${plural(phases.steps, "step")}, ${duration(phases.total_ns)} in all`
          }
          data={phases.total_ns > 0 ? () => partsData("Phase", phaseParts, phases.steps) : undefined}
          isTable
        >
          {phases.total_ns > 0 ? (
            <StackedBar name="Phase" testId="phase" perStep={phases.steps} parts={phaseParts} />
          ) : (
            <Absent>
              Phases were not recorded. The PyTorch hook and the Keras callback record them; an imported trace has none.
            </Absent>
          )}
        </Card>
      )}
      {onDevice.total_ns > 0 && (
        <Card
          title="Where the time goes: phases on the GPU"
          definition={DEFINITIONS.devicePhases}
          basis={`Device time of ${all(onDevice.steps)}${plural(onDevice.steps, "step")}, ${duration(onDevice.total_ns)} in all. Median lag of the GPU behind the host at a phase's begin: ${duration(worker.device_phases?.queue_p50_ns)}.`}
          data={() => partsData("Phase", deviceParts, onDevice.steps)}
          isTable
        >
          <StackedBar name="Phase" testId="device-phase" perStep={onDevice.steps} parts={deviceParts} />
        </Card>
      )}
      <Card
        title="Where the time goes: activity"
        definition={DEFINITIONS.activity}
        basis={
          activity.total_ns > 0 &&
          `Duration of ${all(activity.steps)}${plural(activity.steps, "step")}${activity.steps === count ? "" : " captured in depth"}, ${duration(activity.total_ns)} in all`
        }
        data={activity.total_ns > 0 ? () => partsData("Activity", activityParts, activity.steps) : undefined}
        isTable
      >
        {activity.total_ns > 0 ? (
          <StackedBar name="Activity" testId="activity" perStep={activity.steps} parts={activityParts} />
        ) : (
          <Absent>
            No step was captured in depth, so there is nothing to divide into kernels, copies and host work yet.
          </Absent>
        )}
      </Card>
    </>
  );
}
