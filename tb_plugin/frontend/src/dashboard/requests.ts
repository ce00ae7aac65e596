// The routes of the panels and of the Step breakdown (docs/api.md).

import { json, type ModuleRow, type Percentiles, type StepsAnswer, type WorkerKey } from "../api";
import type { By } from "../tabs/step-parts";
import type { Histogram } from "../table/requests";

export interface TopKernel {
  name: string;
  kind: "compute" | "communication";
  count: number;
  total_ns: number;
  mean_ns: number;
}

export interface TopKernels {
  kernel_count: number | null;
  total_ns: number | null;
  runs: number | null;
  top: TopKernel[];
  rest: { kernels: number; count: number; total_ns: number } | null;
}

export const getTopKernels = (key: WorkerKey, k: number, by: "time" | "count", signal?: AbortSignal) =>
  json<TopKernels>("kernels/top", { ...key, k, by }, signal);

export interface NamesAnswer {
  count: number;
  annotations: { name: string; count: number }[];
}

export const getNames = (key: WorkerKey, signal?: AbortSignal) =>
  json<NamesAnswer>("annotations/names", { ...key }, signal);

export interface HistogramAnswer {
  name: string;
  kind: "annotation" | "phase" | "operator" | "module" | "call" | null;
  count: number;
  total_ns: number | null;
  time_ns: Percentiles | null;
  histogram: Histogram | null;
}

export const getHistogram = (key: WorkerKey, name: string, signal?: AbortSignal) =>
  json<HistogramAnswer>("annotations/histogram", { ...key, name }, signal);

/** Which steps: all or those divided so; those in a stretch of positions; those that meet an interval (relative ns). */
export interface Chosen {
  only: "all" | By;
  first: number | null;
  last: number | null;
  t0: number | null;
  t1: number | null;
}

export interface BarsAnswer {
  count: number;
  begin: number;
  width: number;
  p95_ns: number | null;
  longest_ns: number | null;
  first: number[];
  last: number[];
  id: (number | null)[];
  label: (string | null)[];
  last_id: (number | null)[];
  last_label: (string | null)[];
  steps: number[];
  divided: number[];
  mean_ns: number[];
  mean: number[];
  longest: number[];
  parts: Record<string, number[]>;
}

export interface BarsQuery {
  by: By;
  host: boolean;
  share: boolean;
  begin: number;
  end: number | null;
  bars: number;
}

const flag = (on: boolean) => (on ? 1 : null);

const division = (query: { by: By; host: boolean }) => ({ by: query.by, host: flag(query.host) });

export const getBars = (key: WorkerKey, chosen: Chosen, query: BarsQuery, signal?: AbortSignal) =>
  json<BarsAnswer>(
    "steps/bars",
    {
      ...key,
      ...chosen,
      ...division(query),
      share: flag(query.share),
      begin: query.begin,
      end: query.end,
      bars: query.bars,
    },
    signal,
  );

export interface ToldStep {
  index: number;
  id: number | null;
  label: string | null;
  ns: number;
}

export interface StatisticsAnswer {
  steps: number;
  incomplete: number;
  divided: number;
  first: number | null;
  last: number | null;
  time_ns: Percentiles | null;
  histogram: Histogram | null;
  outlier_above_ns: number | null;
  outlier_count: number;
  outliers: ToldStep[];
  parts: Record<string, { total_ns: number | null; median_ns: number | null }>;
  slowest: (ToldStep & { median_ns: number; part: { name: string; more_ns: number } | null }) | null;
}

export const getStatistics = (key: WorkerKey, chosen: Chosen, query: { by: By; host: boolean }, signal?: AbortSignal) =>
  json<StatisticsAnswer>("steps/statistics", { ...key, ...chosen, ...division(query) }, signal);

export interface Beside {
  ns: number;
  median_ns: number | null;
}

export interface Difference {
  name: string;
  ns: number;
  median_ns: number;
  delta_ns: number;
  count: number;
  median_count: number;
  row: number | null;
}

export interface Differences {
  count: number;
  rest_ns: number;
  delta_ns: number;
  rows: Difference[];
}

export interface CompareAnswer {
  origin_ns: string;
  start: number;
  index: number;
  id: number | null;
  label: string | null;
  complete: boolean;
  deep: boolean;
  duration: Beside;
  host: Beside;
  deep_peers: number;
  activity: Record<string, Beside> | null;
  phase: Record<string, Beside> | null;
  device_work: Differences | null;
  host_work: Differences | null;
}

export const getComparison = (key: WorkerKey, step: number, signal?: AbortSignal) =>
  json<CompareAnswer>("steps/compare", { ...key, step }, signal);

export interface ModulesAnswer {
  steps: number;
  count: number;
  modules: ModuleRow[] | null; // parents before their children
}

export const getModules = (key: WorkerKey, chosen: Chosen | null, signal?: AbortSignal) =>
  json<ModulesAnswer>("modules", { ...key, ...chosen }, signal);

export interface StepsPage extends StepsAnswer {
  index: number[];
}

export const getStepsPage = (
  key: WorkerKey,
  chosen: Chosen,
  sort: string,
  descending: boolean,
  offset: number,
  limit: number,
  signal?: AbortSignal,
) => json<StepsPage>("steps", { ...key, ...chosen, sort, descending: flag(descending), offset, limit }, signal);
