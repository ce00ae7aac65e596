// The routes of the Memory tab (docs/api.md).

import { json, type WorkerKey } from "../api";
import type { TimeRange, TimeView } from "./view";

export interface AllocatorInfo {
  name: string;
  allocator: string | null;
  is_absolute: boolean;
  allocations: number;
  frees: number;
  start_bytes: number;
  end_bytes: number;
  peak_bytes: number;
  peak: number;
  peak_reserved_bytes: number | null;
  unmatched_frees: number | null;
  has_addresses: boolean;
}

export interface CurveAnswer {
  origin_ns: string;
  why_empty: string | null;
  numbering: string | null; // why the devices of allocators are not those that work ran on
  allocators: AllocatorInfo[];
  of: number;
  t0?: number; // these are there with an allocator
  t1?: number;
  windows?: [number, number][];
  curve?: { t: number[]; allocated: (number | null)[]; reserved: (number | null)[] };
  peak?: { bytes: number; t: number } | null; // of the interval
}

export type By = TimeView["by"];

export interface Share {
  name: string | string[] | number | null; // operator, path of the module, or size
  count: number;
  bytes: number;
}

export interface AliveAnswer {
  origin_ns: string;
  t: number;
  by: By;
  why: "between_windows" | "no_addresses" | null;
  has_modules: boolean;
  alive: {
    level_bytes: number;
    reserved_bytes: number | null;
    earlier_bytes: number;
    count: number;
    rows: Share[];
  } | null;
}

export interface StepsAnswer {
  origin_ns: string;
  count: number;
  step: number[];
  end: number[];
  allocated: number[];
  peak: number[];
  window: number[];
  growth: { changes: number; rises: number; per_step_bytes: number | null; is_steady: boolean };
  outlives: number;
  kept: { count: number; bytes: number; rows: Share[] } | null;
}

const whole = (range: TimeRange) => ({ t0: Math.floor(range.t0), t1: Math.ceil(range.t1) });

export const getMemory = (
  key: WorkerKey,
  of: number | null, // null: the fullest
  range: TimeRange | null,
  points: number,
  signal?: AbortSignal,
) => json<CurveAnswer>("memory/curve", { ...key, of, ...(range && whole(range)), points }, signal);

export const getAlive = (key: WorkerKey, of: number, t: number, by: By, signal?: AbortSignal) =>
  json<AliveAnswer>("memory/alive", { ...key, of, t: Math.round(t), by }, signal);

export const getMemorySteps = (key: WorkerKey, of: number, by: By, signal?: AbortSignal) =>
  json<StepsAnswer>("memory/steps", { ...key, of, by }, signal);
