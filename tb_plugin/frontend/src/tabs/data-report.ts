// What the Data tab shows, as text for a report on a fault: without names of hosts, paths and the user's metadata.

import type { SummaryAnswer } from "../api";
import { bytes, clock, count, duration, hasDate, percent, plural } from "../format";
import type { DataAnswer, Stretch } from "./data-requests";
import { gapsOf } from "./not-measured";
import { refusals } from "./notes";

/** "steps 10 to 14 (5)". */
export function stepsText({ steps, first_step: first, last_step: last }: Stretch): string {
  if (steps === 0) return "no whole step";
  if (first === null || last === null) return plural(steps, "step");
  return first === last ? `step ${first}` : `steps ${first} to ${last} (${count(steps)})`;
}

/** A file begins at the beginning of its timeline: what it tells is when that was. */
export function beginText(data: DataAnswer, start: number): string {
  if (data.source === "recording") return duration(start);
  const at = BigInt(data.origin_ns) + BigInt(start);
  return hasDate(Number(at / 1_000_000n)) ? clock(at) : "not known";
}

/** A value of an option: text as it is, anything else as JSON. */
export const valueText = (value: unknown) =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? String(value)).replaceAll(",", ", ");

export function reportOf(data: DataAnswer, answer: SummaryAnswer): string {
  const { worker } = answer;
  const stretch = (name: string, one: Stretch) =>
    `- ${name}: ${duration(one.end - one.start)}, begin ${beginText(data, one.start)}, ${stepsText(one)}, ${count(one.events)} events`;
  const entries = (of: Record<string, unknown> | null) =>
    Object.entries(of ?? {}).map(([key, value]) => `- ${key}: ${valueText(value)}`);
  const devices = (worker.devices ?? []).map((device) => `- ${device.name ?? "unnamed device"}`);
  const { overhead } = worker;
  const parts: [string, string[]][] = [
    [
      "Worker",
      [
        `- ${data.source === "recording" ? "recorded" : "imported trace file"}, ${worker.framework ?? "unknown framework"}`,
        `- rank ${worker.rank ?? "not told"} of ${worker.world_size ?? "not told"}`,
        ...devices,
      ],
    ],
    [
      "Captured",
      [
        ...(data.always_on ? [stretch("always on", data.always_on)] : ["- always on: none"]),
        ...data.windows
          .slice(-20)
          .map((one, i, shown) => stretch(`window ${data.window_count - shown.length + i + 1}`, one)),
        data.monitor
          ? `- monitor: ${count(data.monitor.series)} series, every ${duration(data.monitor.interval_ns)}`
          : "- monitor: none",
      ],
    ],
    [
      "Quality",
      (worker.quality ?? [])
        .map((note) => `- ${note.code} × ${note.count}`)
        .concat(worker.trust ? [`- ${worker.trust.sentence}`] : []),
    ],
    ["Not measured", gapsOf(answer).map(({ what, why }) => `- ${what}: ${why}`)],
    ["Options", [...entries(answer.options), ...refusals(answer.refused).map((text) => `- not met: ${text}`)]],
    ["Recorded with", entries(answer.versions)],
    ["Shown by", entries(data.viewer)],
    [
      "Clock and overhead",
      [
        data.clock
          ? `- ${plural(data.clock.anchors, "anchor")}, error at most ${data.clock.error_ns} ns, jumps ${data.clock.jumps_ns.join(", ") || "none"}`
          : "- clock of the trace file",
        overhead ? `- profiler: ${percent(overhead.ratio)} of the training's time` : "- overhead not measured",
      ],
    ],
    // The name of an imported file is the user's; those of a recording are stepscope's.
    [
      "Files",
      data.source === "file"
        ? data.files.map((file) => `- trace file, ${bytes(file.bytes)}`)
        : data.files.slice(0, 40).map((file) => `- ${file.name}: ${bytes(file.bytes)}`),
    ],
  ];
  return `${parts.map(([title, lines]) => `## ${title}\n${lines.join("\n") || "- none"}`).join("\n\n")}\n`;
}
