// The routes of the charts over time (docs/api.md).

import { json, type Series, type SeriesUnit, type WorkerKey } from "../api";
import type { TimeRange } from "./view";

export interface ResourceCurves {
  origin_ns: string;
  interval_ms: number | null; // the usual one
  latest_interval_ms: number | null; // between the latest samples
  t0: number; // of all samples
  t1: number;
  series: Series[];
}

export interface CoreMap {
  origin_ns: string;
  edges: number[];
  cores: { core: number; mean: (number | null)[] }[];
}

export interface StripAnswer {
  start: number[];
  end: number[];
  count: number[];
  first: (number | null)[];
  last: (number | null)[];
  name: string[];
}

export interface StripsAnswer {
  origin_ns: string;
  steps: StripAnswer;
  phases: StripAnswer;
}

export interface BandAnswer {
  id: string;
  label: string;
  group: string;
  unit: SeriesUnit;
  of: "hosts" | "GPUs" | "processes";
  members: number;
  mean: (number | null)[];
  min: (number | null)[];
  max: (number | null)[];
}

export interface RunResources {
  origin_ns: string;
  t1: number;
  hosts: string[];
  workers: number;
  edges: number[];
  bands: BandAnswer[];
}

const whole = (range: TimeRange) => ({ t0: Math.floor(range.t0), t1: Math.ceil(range.t1) });

export const getCurves = (key: WorkerKey, range: TimeRange | null, points: number, signal?: AbortSignal) =>
  json<ResourceCurves>("resources", { ...key, ...(range && whole(range)), points, without_cores: 1 }, signal);

export const getCores = (key: WorkerKey, range: TimeRange, columns: number, signal?: AbortSignal) =>
  json<CoreMap>("resources/cores", { ...key, ...whole(range), columns }, signal);

export const getStrips = (key: WorkerKey, range: TimeRange, px: number, signal?: AbortSignal) =>
  json<StripsAnswer>("steps/strips", { ...key, ...whole(range), px }, signal);

export const getRunResources = (
  run: string,
  host: string | null,
  range: TimeRange | null,
  columns: number,
  signal?: AbortSignal,
) => json<RunResources>("run/resources", { run, host, ...(range && whole(range)), columns }, signal);
