// The viewer's HTTP routes (docs/api.md): their answers as types, and one function a route.

import { decodeView, type ViewTable } from "./timeline/decode";

export interface WorkerInfo {
  id: string;
  rank: number | null;
  world_size: number | null;
  host: string | null;
  pid: number | null;
  framework: string | null;
  live: boolean;
}

export interface RunInfo {
  id: string;
  name: string;
  live: boolean;
  updated_ns: string | number | null;
  error: string | null;
  workers: WorkerInfo[];
}

export interface RunsAnswer {
  logdir: string;
  runs: RunInfo[];
}

export interface Percentiles {
  count: number;
  mean: number;
  p50: number;
  p90: number;
  p95: number;
  p99: number;
  min: number;
  max: number;
}

export interface KernelRow {
  name: string;
  kind: "compute" | "communication";
  count: number;
  total_ns: number;
  clipped_ns: number | null;
  mean_ns: number;
  min_ns: number;
  max_ns: number;
}

export interface OperatorRow {
  name: string;
  count: number;
  host_total_ns: number | null;
  host_self_ns: number | null;
  device_total_ns: number | null;
  device_self_ns: number | null;
}

export interface MemcpyRow {
  count: number;
  bytes: number | null;
  time_ns: number;
  bytes_per_s: number | null;
}

export interface Launches {
  count: number;
  linked: number;
  without_run: number;
  runs_without_launch: number;
  latency_ns: { p50: number; p90: number; p99: number; max: number } | null;
  negative: number;
}

export interface GpuSummary {
  device: number;
  busy_ns: number;
  utilization_steps: number | null;
  utilization_window: number | null;
}

export interface DeviceInfo {
  id: number;
  name: string | null;
  sm_count: number | null;
  memory_bytes: number | null;
}

export interface QualityNote {
  code: string;
  count: number;
  detail: string;
}

export interface AnnotationRow {
  name: string;
  count: number;
  total_ns: number;
  p50_ns: number | null;
  p99_ns: number | null;
}

/** One worker of `stepscope summary`; an analysis that did not run is null. */
export interface WorkerSummary {
  worker: string;
  rank: number | null;
  world_size: number | null;
  host: string | null;
  pid: number | null;
  framework: string | null;
  devices: DeviceInfo[] | null;
  events: number | null;
  step_count: number | null;
  gpu: GpuSummary[] | null;
  timeline_ns: Record<string, number | null> | null;
  activity_time_ns: Record<string, number | null> | null;
  kernels: KernelRow[] | null;
  kernel_count: number | null;
  memcpy: Record<string, MemcpyRow> | null;
  launches: Launches | null;
  operators: OperatorRow[] | null;
  operator_count: number | null;
  annotations: AnnotationRow[] | null;
  quality: QualityNote[] | null;
}

export interface Finding {
  rule: string;
  severity: "info" | "warning" | "critical";
  message: string;
}

export interface Coverage {
  steps: number | null;
  deep_steps: number | null;
  windows: number | null;
  first_ns: number | null;
  last_ns: number | null;
}

export interface SummaryAnswer {
  origin_ns: string;
  run: string;
  live: boolean;
  updated_ns: string | number | null;
  worker: WorkerSummary;
  step_time_ns: Percentiles | null;
  resources: Record<string, unknown> | null;
  findings: Finding[] | null;
  coverage: Coverage | null;
  options: Record<string, unknown> | null;
  versions: Record<string, unknown> | null;
  refused: unknown;
}

export interface StepsAnswer {
  origin_ns: string;
  count: number;
  offset: number;
  id: (number | null)[]; // null: the source tells no number
  label: (string | null)[];
  start: number[];
  host: (number | null)[];
  duration: number[];
  complete: boolean[];
  inferred: boolean[];
  activity: Record<string, (number | null)[]>;
  phase: Record<string, (number | null)[]>;
}

export type SeriesUnit = "ratio" | "bytes" | "bytes_per_s";

export interface Series {
  id: string;
  label: string;
  group: string;
  unit: SeriesUnit;
  t: number[];
  mean: (number | null)[];
  min: (number | null)[];
  max: (number | null)[];
}

export interface ResourcesAnswer {
  origin_ns: string;
  interval_ms: number | null;
  series: Series[];
}

export type LaneType = "host" | "process" | "device" | "group" | "thread" | "stream" | "counter";

export interface LaneInfo {
  id: number;
  parent: number | null;
  type: LaneType;
  name: string;
  rows: number;
  events: number;
  busy_ns: number | null;
  series?: string | string[];
}

export interface TreeAnswer {
  origin_ns: string;
  t0: number;
  t1: number;
  steps: { id: (number | null)[]; start: number[]; end: number[] };
  lanes: LaneInfo[];
}

export interface Connection {
  type: "launch" | "run" | "forward" | "backward" | "operator";
  row: number;
  name: string;
  lane: number;
  depth: number;
  start: number;
  dur: number;
  latency: number | null;
}

export interface SliceAnswer {
  origin_ns: string;
  row: number;
  name: string;
  kind: string;
  lane: number;
  lane_name: string;
  depth: number;
  start: number;
  dur: number;
  self: number | null;
  step: number | null;
  args: Record<string, unknown> | null;
  connections: Connection[];
}

/** The server reads the worker's files for the first time: ask again. */
export class Importing extends Error {}

/** The server answered with a sentence, or could not be reached (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Where the routes lie: beside this module, whatever prefix or experiment path TensorBoard runs under. */
export function routeBase(moduleUrl: string): string {
  return moduleUrl.match(/^(.*\/data\/plugin\/[^/]+\/)/)?.[1] ?? new URL(".", moduleUrl).href;
}

let base = "";

export function setRouteBase(moduleUrl: string): void {
  base = routeBase(moduleUrl);
}

type Params = Record<string, string | number | null | undefined>;

async function request(route: string, params: Params, signal?: AbortSignal): Promise<Response> {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) if (value != null) query.set(key, String(value));
  const text = query.toString();
  let response: Response;
  try {
    response = await fetch(`${base}${route}${text && `?${text}`}`, { signal, cache: "no-cache" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "The server does not answer. Is TensorBoard still running?");
  }
  if (response.status === 202) {
    const body = (await response.json().catch(() => ({}))) as { detail?: string };
    throw new Importing(body.detail ?? "");
  }
  if (!response.ok) {
    const body = (await response.json().catch(() => ({}))) as { error?: string };
    throw new ApiError(response.status, body.error ?? `The server answered ${response.status} for ${route}.`);
  }
  return response;
}

async function json<T>(route: string, params: Params, signal?: AbortSignal): Promise<T> {
  return (await request(route, params, signal)).json() as Promise<T>;
}

export interface WorkerKey {
  run: string;
  worker: string;
}

export const getRuns = (signal?: AbortSignal) => json<RunsAnswer>("runs", {}, signal);

export const getSummary = (key: WorkerKey, signal?: AbortSignal) => json<SummaryAnswer>("summary", { ...key }, signal);

export const getSteps = (key: WorkerKey, offset: number, limit: number, signal?: AbortSignal) =>
  json<StepsAnswer>("steps", { ...key, offset, limit }, signal);

export const getResources = (
  key: WorkerKey,
  range: { t0: number; t1: number } | null,
  points: number,
  signal?: AbortSignal,
) => json<ResourcesAnswer>("resources", { ...key, ...(range && wholeRange(range)), points }, signal);

export const getTree = (key: WorkerKey, signal?: AbortSignal) => json<TreeAnswer>("timeline/tree", { ...key }, signal);

export async function getView(
  key: WorkerKey,
  range: { t0: number; t1: number },
  px: number,
  lanes: readonly number[],
  signal?: AbortSignal,
): Promise<ViewTable> {
  const params = { ...key, ...wholeRange(range), px, lanes: lanes.join(",") };
  const response = await request("timeline/view", params, signal);
  return decodeView(new Uint8Array(await response.arrayBuffer()));
}

export const getSlice = (key: WorkerKey, row: number, signal?: AbortSignal) =>
  json<SliceAnswer>("timeline/slice", { ...key, row }, signal);

export const findByName = (key: WorkerKey, name: string, signal?: AbortSignal) =>
  json<{ count: number; rows: number[] }>("timeline/find", { ...key, name }, signal);

function wholeRange(range: { t0: number; t1: number }): { t0: number; t1: number } {
  return { t0: Math.floor(range.t0), t1: Math.ceil(range.t1) };
}

/** A time of an answer that may be absolute (a decimal string or a large number) or relative to the origin. */
export function absoluteMs(value: string | number | null, originNs: string | null): number | null {
  if (value === null) return null;
  const n = Number(value);
  // Anything after 1990 is absolute; a capture of twenty years does not occur.
  return n > 6.3e17 || originNs === null ? n / 1e6 : Number(originNs) / 1e6 + n / 1e6;
}
