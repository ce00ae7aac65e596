// The strip of facts about a worker: what ran, where, with what, and how much of it was seen in depth.

import type { JSX } from "preact";
import { worded } from "../amd";
import type { DeviceInfo, OverviewAnswer, ResourcesAnswer, SummaryAnswer, WorkerSummary } from "../api";
import { DEFINITIONS } from "../definitions";
import { bytes, calendar, count, duration, hasDate, plural } from "../format";
import { stepName } from "../steps";

const FRAMEWORKS: Record<string, string> = { pytorch: "PyTorch", tensorflow: "TensorFlow", jax: "JAX" };

interface Fact {
  label: string;
  value: string;
  title?: string;
}

/** Like devices are told once, with their number. */
export function deviceText(devices: readonly DeviceInfo[]): string {
  const groups = new Map<string, number>();
  for (const device of devices) {
    const memory = device.memory_bytes ? ` ${bytes(device.memory_bytes)}` : "";
    const text = `${device.name ?? `GPU ${device.id}`}${memory}`;
    groups.set(text, (groups.get(text) ?? 0) + 1);
  }
  return [...groups].map(([text, n]) => (n > 1 ? `${n} × ${text}` : text)).join(", ");
}

export function versionText(versions: Record<string, unknown> | null): string {
  return Object.entries(versions ?? {})
    .filter(([, value]) => typeof value === "string" || typeof value === "number")
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}

/** When the recording began, Unix ms; null where the clock of the source has no known zero. */
function recordedMs(answer: SummaryAnswer): number | null {
  const first = answer.coverage?.first_ns ?? null;
  const ms = first === null ? 0 : (Number(answer.origin_ns) + first) / 1e6;
  return hasDate(ms) ? ms : null;
}

const MOST_STRETCHES = 3;

/** Steps captured in depth, as "10–14, 40". */
function deepText(all: OverviewAnswer): string {
  const name = (index: number) => stepName(all, all.index.indexOf(index));
  const parts = all.deep.map(([from, to]) => (from === to ? name(from) : `${name(from)}–${name(to)}`));
  return parts.length > MOST_STRETCHES ? `${parts.slice(0, MOST_STRETCHES).join(", ")}, …` : parts.join(", ");
}

/** "steps 10–14 of 2,310 in depth; always-on data for all; 1 deep window not converted yet". */
export function coverageText(answer: SummaryAnswer, all: OverviewAnswer | null): string {
  const waiting = answer.coverage?.unconverted_windows ?? 0;
  const known = knownText(answer, all);
  return waiting > 0 ? `${known}; ${plural(waiting, "deep window")} not converted yet` : known;
}

function knownText(answer: SummaryAnswer, all: OverviewAnswer | null): string {
  const total = answer.coverage?.steps ?? answer.worker.step_count ?? 0;
  if (total === 0) return "no steps seen";
  const deep = answer.coverage?.deep_steps ?? 0;
  if (deep >= total) return total === 1 ? "1 step, in depth" : `all ${plural(total, "step")} in depth`;
  if (deep === 0) return `${plural(total, "step")}, none in depth yet; always-on data for all`;
  const which = all && all.deep.length > 0 ? `steps ${deepText(all)}` : plural(deep, "step");
  return `${which} of ${count(total)} in depth; always-on data for all`;
}

/** "BF16 78 %, FP32 17 %": what most of the kernels compute in. */
export function precisionText(worker: WorkerSummary): string {
  const parts = Object.entries(worker.precision_ns ?? {}).filter(([, ns]) => (ns ?? 0) > 0);
  const total = parts.reduce((sum, [, ns]) => sum + (ns ?? 0), 0);
  return parts
    .map(([name, ns]) => [name, (ns ?? 0) / total] as const)
    .filter(([name, ratio]) => name !== "other" && ratio >= 0.05)
    .sort((a, b) => b[1] - a[1])
    .map(([name, ratio]) => `${name.toUpperCase()} ${Math.round(ratio * 100)} %`)
    .join(", ");
}

function loaderText(worker: WorkerSummary): string {
  const { workers, batch_size: size } = worker.loader ?? { workers: null, batch_size: null };
  const loading =
    workers === 0 ? "loaded in the training process" : workers && plural(workers, "loader process", "loader processes");
  return [size && `batches of ${count(size)}`, loading].filter(Boolean).join(", ");
}

/** Nested metadata as "optimizer.lr" and its value. */
export function flat(metadata: Record<string, unknown> | null, prefix = ""): [string, string][] {
  return Object.entries(metadata ?? {}).flatMap(([name, value]): [string, string][] => {
    const path = prefix + name;
    if (value !== null && typeof value === "object" && !Array.isArray(value))
      return flat(value as Record<string, unknown>, `${path}.`);
    return [[path, typeof value === "string" ? value : JSON.stringify(value)]];
  });
}

/** What the script told of the run: hyperparameters and the like. */
function Metadata({ metadata }: { metadata: Record<string, unknown> | null }): JSX.Element | null {
  const told = flat(metadata);
  if (told.length === 0) return null;
  return (
    <ul class="metadata" aria-label="Metadata of the run" data-testid="metadata">
      {told.map(([name, value]) => (
        <li key={name} title={`${name} = ${value}`}>
          <span class="faint">{name}</span> {value}
        </li>
      ))}
    </ul>
  );
}

function devicesOf(worker: WorkerSummary): string {
  if (worker.devices && worker.devices.length > 0) return deviceText(worker.devices);
  const allocators = (worker.memory ?? []).filter((row) => row.device !== null);
  const used = worker.gpu?.length || new Set(allocators.map((row) => row.device)).size;
  return used > 0 ? `${plural(used, "GPU")}, model not told` : "CPU only";
}

function facts(answer: SummaryAnswer, steps: OverviewAnswer | null, resources: ResourcesAnswer | null): Fact[] {
  const { worker } = answer;
  const list: Fact[] = [];
  const framework = worker.framework ?? "unknown";
  const versions = versionText(answer.versions);
  list.push({
    label: "Framework",
    value: FRAMEWORKS[framework] ?? (framework === "unknown" ? "not told by the data" : framework),
    title: versions || undefined,
  });
  if (worker.host)
    list.push({ label: "Host", value: worker.host, title: worker.pid === null ? undefined : `Process ${worker.pid}` });
  const units = worded("multiprocessors", worker);
  list.push({
    label: "Devices",
    value: devicesOf(worker),
    title: worker.devices
      ?.map((d) => `GPU ${d.id}: ${d.name ?? "unnamed"}${d.sm_count ? `, ${d.sm_count} ${units}` : ""}`)
      .join("\n"),
  });
  if (worker.rank !== null && worker.world_size !== 1) {
    list.push({
      label: "Rank",
      value: worker.world_size ? `${worker.rank} of ${count(worker.world_size)}` : `${worker.rank}`,
    });
  }
  const began = recordedMs(answer);
  if (began !== null) list.push({ label: "Recorded", value: calendar(began), title: new Date(began).toLocaleString() });
  if (versions) list.push({ label: "Versions", value: versions });
  list.push({
    label: "Coverage",
    value: coverageText(answer, steps),
    title: worker.events === null ? undefined : `${plural(worker.events, "event")} kept`,
  });
  const precision = precisionText(worker);
  if (precision) list.push({ label: "Precision", value: precision, title: DEFINITIONS.precision });
  const loader = loaderText(worker);
  if (loader) list.push({ label: "Input", value: loader });
  const sampled = resources !== null && resources.series.length > 0;
  if (resources !== null) {
    list.push({
      label: "Monitor",
      value: !sampled ? "none" : resources.interval_ms ? `every ${duration(resources.interval_ms * 1e6)}` : "yes",
      title: sampled
        ? "CPU, memory, network, disk and GPUs, sampled beside the training"
        : "No resource monitor ran with this worker. An imported trace has no such data.",
    });
  }
  return list;
}

export function Facts(props: {
  answer: SummaryAnswer;
  steps: OverviewAnswer | null;
  resources: ResourcesAnswer | null;
}): JSX.Element {
  return (
    <>
      <dl class="facts">
        {facts(props.answer, props.steps, props.resources).map((fact) => (
          <div key={fact.label} title={fact.title || fact.value} data-testid={`fact-${fact.label.toLowerCase()}`}>
            <dt>{fact.label}</dt>
            <dd>{fact.value}</dd>
          </div>
        ))}
      </dl>
      <Metadata metadata={props.answer.metadata} />
    </>
  );
}
