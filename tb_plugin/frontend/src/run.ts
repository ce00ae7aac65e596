// A run as a whole, all its workers beside each other: what its routes answer, and what that is called.

import type { CollectiveRow, Finding, Percentiles } from "./api";
import { DASH, duration } from "./format";
import { ACTIVITY_LABELS, PHASE_LABELS, type Activity, type Phase } from "./kinds";

/** Columns of one entry a worker, by rank; times are means a step. */
export interface Ranks {
  worker: string[];
  rank: (number | null)[];
  host: (string | null)[];
  ends_early: boolean[]; // the file ends in the middle: only whole steps are compared
  steps: number[];
  p50_ns: (number | null)[];
  mean_ns: (number | null)[];
  delta_ns: (number | null)[];
  own_ns: (number | null)[];
  slowest: number[];
  excess_part: (string | null)[];
  excess_family: (Family | null)[];
  excess_ns: (number | null)[];
  input_wait_ns: (number | null)[];
  exposed_ns: (number | null)[];
  collective_wait_ns: (number | null)[];
  waited_for: (number | null)[];
  gpu_busy: (number | null)[];
  memory_peak_bytes: (number | null)[];
  notes: number[];
}

/** Columns of one entry an allocator of a worker. */
export interface RunMemory {
  worker: number[]; // places in the columns of `Ranks`
  device: (number | null)[]; // null: the host
  allocator: (string | null)[];
  is_absolute: boolean[];
  peak_bytes: number[];
  peak_reserved_bytes: (number | null)[];
}

/** Columns of one entry a worker whose deep windows saw a device: ns that sum to `total`. */
export interface DeviceTimes {
  worker: number[]; // places in the columns of `Ranks`
  total: number[];
  computation: number[];
  overlapped: number[];
  communication: number[];
  copies: number[];
  idle: number[];
}

export type Family = "activity" | "phase";

/** A collective of all workers: sums, and the largest bandwidths of a worker. */
export type RunCollective = Pick<
  CollectiveRow,
  | "name"
  | "group"
  | "group_size"
  | "device"
  | "count"
  | "total_ns"
  | "exposed_ns"
  | "slack_ns"
  | "slack_known"
  | "slack_from"
  | "stall_ns"
  | "in_slack"
  | "bytes"
  | "algbw_bytes_per_s"
  | "busbw_bytes_per_s"
  | "needed_algbw_bytes_per_s"
  | "needed_busbw_bytes_per_s"
> & { workers: number; most_stalled: string | null };

export interface RunSummary {
  run: string;
  live: number;
  stale: number;
  step_time_ns: Percentiles | null;
  frameworks: string[];
  hosts: number;
  devices: Record<string, number>;
  coverage: { steps: number; deep_steps: number; phased_steps: number; windows: number };
  measures: string[];
  compared_by: "own" | "duration";
  across_workers: {
    workers: number;
    world_size: number | null;
    missing_ranks: number[] | null;
    missing_rank_count: number | null;
    attempts: number;
    aligned_by: "id" | "position";
    steps: number;
    shared_steps: number;
    imbalance: { measure: string; steps: number; excess_ns: number | null; ratio: number | null };
    collectives: RunCollective[] | null;
  } | null;
  ranks: Ranks;
  memory: RunMemory;
  device_time: DeviceTimes;
  quality: { code: string; count: number; workers: number; detail: string }[];
  findings: Finding[];
  problems: string[];
}

/** A measure in stretches of steps; arrays have one entry a stretch. */
export interface RunSteps {
  of: string;
  aligned_by: "id" | "position";
  count: number; // steps that were measured
  of_steps: number;
  first: number[];
  last: number[];
  first_id: number[];
  last_id: number[];
  mean: (number | null)[];
  min: (number | null)[];
  max: (number | null)[];
  slowest: (number | null)[];
  cells: (number | null)[][];
  activity: Partial<Record<Activity, (number | null)[]>>;
  phase: Partial<Record<Phase, (number | null)[]>>;
}

/** A measure in words: "duration", "own", "activity.kernel", "phase.forward". */
export function measureLabel(measure: string): string {
  if (measure === "duration") return "Step time";
  if (measure === "own") return "Step without exposed communication";
  const [family, part] = measure.split(".");
  return partLabel(family as Family, part);
}

export function partLabel(family: Family, part: string): string {
  const labels: Record<string, string> = family === "phase" ? PHASE_LABELS : ACTIVITY_LABELS;
  return labels[part] ?? part;
}

/** How a worker is called among its peers. */
export function rankName(ranks: Pick<Ranks, "rank" | "worker">, i: number): string {
  return ranks.rank[i] === null ? ranks.worker[i] : `Rank ${ranks.rank[i]}`;
}

/** How a stretch of steps is called on an axis. */
export function stretchTick(steps: RunSteps, i: number): string {
  return String(steps.first_id[i] + (steps.aligned_by === "id" ? 0 : 1));
}

/** "step 7" or "steps 7 to 9"; steps without numbers are counted from 1. */
export function stretchName(steps: RunSteps, i: number): string {
  const shift = steps.aligned_by === "id" ? 0 : 1;
  const [first, last] = [steps.first_id[i] + shift, steps.last_id[i] + shift];
  return first === last ? `step ${first}` : `steps ${first} to ${last}`;
}

/** "+2.6 ms", "−3 µs", "0 ns". */
export function signed(ns: number | null): string {
  if (ns === null) return DASH;
  return ns === 0 ? "0 ns" : `${ns < 0 ? "−" : "+"}${duration(Math.abs(ns))}`;
}

/** What a slow worker spends more time in than the median worker; null for one that is not slow. */
export function reasonText(ranks: Ranks, i: number): string | null {
  const part = ranks.excess_part[i];
  const family = ranks.excess_family[i];
  if (part === null || family === null || (ranks.delta_ns[i] ?? 0) <= 0) return null;
  return `${partLabel(family, part)} ${signed(ranks.excess_ns[i])}`;
}

/** All workers, the one furthest beyond the median first. */
export function bySlowness({ ranks }: Pick<RunSummary, "ranks">): number[] {
  const order = ranks.worker.map((_, i) => i);
  return order.sort((a, b) => (ranks.delta_ns[b] ?? -Infinity) - (ranks.delta_ns[a] ?? -Infinity) || a - b);
}
