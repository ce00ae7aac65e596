// The viewer's HTTP routes (docs/api.md): their answers as types, and one function a route.

import { address, ASKED, type Params } from "./address";
import { decodeView, type ViewTable } from "./timeline/decode";
import { counted } from "./under-way";

/** How a recording stands, as `stepscope doctor` tells it. */
export type WorkerState = "running" | "finished" | "failed" | "stopped" | "killed" | "hung" | "lost";

export interface WorkerInfo {
  id: string;
  source: "recording" | "import" | "file"; // an import is a file of which a run folder was made
  rank: number | null;
  world_size: number | null;
  host: string | null;
  pid: number | null;
  framework: string | null;
  live: boolean;
  state: WorkerState | null; // of a recording; null: a file
  detail: string | null; // the state in a sentence
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
  precision: string | null;
  matrix_units: boolean | null;
  blocks_per_sm: number | null;
  occupancy: number | null;
}

export interface HloOperationRow {
  program: string;
  program_id: number | null;
  op: string;
  runs: number;
  executions: number;
  total_ns: number;
  self_ns: number;
}

export interface OperatorRow {
  name: string;
  count: number;
  host_total_ns: number | null;
  host_self_ns: number | null;
  device_total_ns: number | null;
  device_self_ns: number | null;
}

export interface MemoryOperationRow {
  operation: "memcpy" | "memset";
  direction: string | null;
  source: string | null;
  target: string | null;
  count: number;
  bytes: number | null;
  time_ns: number;
  bytes_per_s: number | null;
}

/** One metric of the resource monitor over the run; ratios, bytes or bytes/s. */
export interface ResourceRow {
  p50: number;
  p95: number;
  p99: number;
  min: number;
  max: number;
  mean: number;
  samples: number;
  active: number;
  idle: number;
  active_by_index: Record<string, number> | null;
  mean_by_index: Record<string, number> | null;
}

export interface LaunchTimes {
  p50: number;
  p90: number;
  p99: number;
  max: number;
}

export interface Launches {
  count: number;
  linked: number;
  without_run: number;
  runs_without_launch: number;
  latency_ns: LaunchTimes | null;
  queue_wait_ns: LaunchTimes | null;
  overhead_ns: LaunchTimes | null;
  negative: number;
  short_kernels: number | null;
  short_kernel_ns: number | null;
  short_call_ns: number | null;
}

export interface GpuSummary {
  device: number;
  busy_ns: number;
  utilization_steps: number | null;
  utilization_window: number | null;
  sm_efficiency: number | null;
  occupancy: number | null;
  tensor_core_time: number | null;
}

export interface DeviceUnit {
  device: number;
  unit: string;
  label: string;
  busy: number | null;
  achieved: number | null;
  peak: number | null;
  quantity: string;
  utilization: number | null;
  measured: "trace" | "estimated" | "counter" | null;
  basis: string;
  why: string | null;
}

export interface DeviceCounter {
  device: number;
  counter: string;
  label: string | null;
  description: string | null;
  unit: string | null;
  source: "range" | "sample" | "value";
  samples: number;
  sum: number | null;
  mean: number;
  min: number;
  max: number;
}

export interface CountedRanges {
  name: string;
  ranges: number;
  values: Record<string, number>;
}

export interface DeviceCounters {
  counters: DeviceCounter[];
  counter_count: number;
  kernels: CountedRanges[];
  kernel_count: number;
  operators: CountedRanges[];
  operator_count: number;
  operators_why: string | null;
}

export interface IdleRow {
  device: number;
  stream: number | null;
  events: number;
  span_ns: number;
  busy_ns: number;
  idle_ns: number;
  host_wait_ns: number;
  kernel_wait_ns: number;
  other_ns: number;
  unlaunched_ns: number; // of other_ns
}

export interface Idle {
  kernel_wait_threshold_ns: number;
  devices: IdleRow[] | null;
}

export interface CollectiveRow {
  name: string;
  group: string | null;
  group_description: string | null;
  group_size: number | null;
  device: boolean;
  count: number;
  total_ns: number;
  min_ns: number;
  max_ns: number;
  exposed_ns: number | null;
  bytes: number | null;
  bytes_known: number;
  algbw_bytes_per_s: number | null;
  busbw_bytes_per_s: number | null;
  slack_ns: number | null;
  slack_known: number;
  slack_from: SlackFrom | null;
  stall_ns: number | null;
  in_slack: number | null;
  needed_algbw_bytes_per_s: number | null;
  needed_busbw_bytes_per_s: number | null;
}

/** How it is known what waits for a collective; the last two give a lower bound of the slack. */
export type SlackFrom = "operations" | "records" | "calls" | "order";

export interface Communication {
  total_ns: number;
  exposed_ns: number;
  overlapped_ns: number;
  overlap: number | null;
  stall_ns: number | null;
  collectives: CollectiveRow[];
  collective_count: number;
}

export interface SyncRow {
  operator: string | null;
  name: string;
  count: number;
  total_ns: number;
}

export interface Synchronisation {
  calls: { name: string; count: number; total_ns: number; max_ns: number }[];
  by_operator: SyncRow[];
  by_operator_count: number;
}

/** A stage of a tf.data pipeline; those of one depth and path prefix are inputs of the stage with that path. */
export interface TfDataStage {
  stage: string;
  path: string;
  depth: number;
  calls: number;
  total_ns: number;
  self_ns: number;
  in_background: boolean;
  parallelism: number | null;
  autotuned: boolean | null;
  buffer_size: number | null;
  buffered_calls: number | null;
  empty_ratio: number | null;
}

export interface TfData {
  stages: TfDataStage[];
  fetches: number;
  wait_ns: number;
  loop_ns: number | null;
  wait_ratio: number | null;
  slowest: string;
  advice: string | null;
}

export interface MemoryShare<N> {
  name: N | null;
  count: number;
  bytes: number;
}

/** Allocations of one allocator; times are relative to the origin. */
export interface MemoryRow {
  device: number | null; // null: the host
  allocator: string | null;
  is_absolute: boolean;
  allocations: number;
  frees: number;
  start_bytes: number;
  end_bytes: number;
  peak_bytes: number;
  peak_ns: number | null;
  peak_reserved_bytes: number | null;
  curve: { ts_ns: number[]; allocated: number[]; reserved: number[] | null };
  at_peak: {
    earlier_bytes: number;
    operators: MemoryShare<string>[];
    modules: MemoryShare<string[]>[] | null;
  } | null;
}

export interface ModuleRow {
  path: string[];
  calls: number | null;
  forward_host_total_ns: number | null;
  forward_host_self_ns: number | null;
  forward_device_total_ns: number | null;
  forward_device_self_ns: number | null;
  backward_host_total_ns: number | null;
  backward_host_self_ns: number | null;
  backward_device_total_ns: number | null;
  backward_device_self_ns: number | null;
}

/** Host time of a module's forward calls, summed over the steps that the always-on stream looked at. */
export interface SampledModuleRow {
  name: string;
  steps: number;
  calls: number;
  forward_host_total_ns: number;
  forward_host_self_ns: number;
}

export interface Overhead {
  stall_ns: number;
  hook_ns_per_step: number | null;
  ratio: number | null;
  window_effect_ratio: number | null;
  shed: string[];
}

export interface Trust {
  sentence: string;
  events_kept: number;
  events_left_out: number;
  weakens: { code: string; count: number; fields: string[] }[];
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

export type Spread = Record<"mean" | "p50" | "p90" | "p95" | "p99" | "min" | "max", number>;

/** Requests of inference, and the batches that a model server made of them. */
export interface Inference {
  source: string;
  count: number;
  requests_per_s: number | null;
  span_ns: number;
  in_flight: number | null;
  latency_ns: Spread;
  deep: number;
  late: number;
  parts: { part: string; mean_ns: number; share: number; slowest_mean_ns: number }[] | null;
  batches: {
    count: number;
    batches_per_s: number | null;
    duration_ns: Spread;
    wait_ns: Spread | null;
    tasks_mean: number | null;
    size_mean: number | null;
    padded_mean: number | null;
    padding_ratio: number | null;
    device_ns: number | null;
  } | null;
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
  overhead: Overhead | null;
  job: {
    initialisation_ns: number;
    steps_ns: number;
    between_ns: number;
    finalisation_ns: number | null;
  } | null;
  loader: { workers: number | null; batch_size: number | null } | null;
  throughput: { batch_size: number; batch_size_from: string | null; samples_per_s: number } | null;
  activity_total_ns: Record<string, number | null> | null;
  phase_total_ns: Record<string, number | null> | null;
  device_phases: { steps: number; total_ns: Record<string, number>; queue_p50_ns: number | null } | null;
  gpu: GpuSummary[] | null;
  gpu_count: number | null;
  device_units: DeviceUnit[] | null;
  device_unit_count: number | null;
  device_counters: DeviceCounters | null;
  idle: Idle | null;
  operator_modes: Record<string, number | null> | null;
  /** Times of all entries, those cut off too. */
  list_ns: { operators?: number; operators_on_devices?: number; hlo_operations?: number; modules?: number };
  hlo_operations: HloOperationRow[] | null;
  hlo_operation_count: number | null;
  precision_ns: Record<string, number | null> | null;
  communication: Communication | null;
  synchronisation: Synchronisation | null;
  tf_data: TfData | null;
  inference: Inference | null;
  memory: MemoryRow[] | null;
  memory_count: number | null;
  memory_operations: MemoryOperationRow[] | null;
  modules: ModuleRow[] | null;
  modules_total: number | null;
  sampled_modules: SampledModuleRow[] | null;
  trust: Trust | null;
  timeline_ns: Record<string, number | null> | null;
  activity_time_ns: Record<string, number | null> | null;
  kernels: KernelRow[] | null;
  kernel_count: number | null;
  launches: Launches | null;
  operators: OperatorRow[] | null;
  operator_count: number | null;
  annotations: AnnotationRow[] | null;
  annotation_count: number | null;
  annotations_others: { count: number; total_ns: number } | null; // of those that are not listed
  quality: QualityNote[] | null;
}

export type Severity = "info" | "warning" | "critical";

/** Where evidence can be looked at: a step (its start relative to the origin), or a thing by its name. */
export interface Place {
  what: "step" | "kernel" | "operator" | "annotation" | "call";
  name: string;
  start_ns: number | null;
  duration_ns: number | null;
}

export interface Finding {
  rule: string;
  severity: Severity;
  message: string;
  evidence: Record<string, number | string | boolean | null>;
  fix: string[];
  gain: { ns_per_step: number | null; ratio: number; formula: string } | null;
  places: Place[];
  counter_evidence: string[];
  confidence: "low" | "medium" | "high";
  weakened_by: string[];
  workers: string[];
  more_workers: number;
}

export interface Verdict {
  sentence: string;
  severity: Severity | "ok" | "unknown";
  rule: string | null;
  bound: { by: string; sentence: string } | null; // what bounds the step
}

export interface Coverage {
  steps: number | null;
  deep_steps: number | null;
  phased_steps: number | null;
  windows: number | null;
  unconverted_windows: number;
  first_ns: number | null;
  last_ns: number | null;
}

export interface SummaryAnswer {
  origin_ns: string;
  run: string;
  live: boolean;
  updated_ns: string | number | null;
  stale: boolean; // an earlier state of a running job that takes long to analyse
  worker: WorkerSummary;
  step_time_ns: Percentiles | null;
  resources: Record<string, Record<string, ResourceRow>> | null; // by host and metric
  findings: Finding[] | null;
  verdict: Verdict | null;
  metadata: Record<string, unknown> | null;
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

/** Few steps that show how long all take; `index` tells which ones of all `count` they are. */
export interface OverviewAnswer {
  origin_ns: string;
  count: number;
  incomplete: number;
  deep: [number, number][]; // first and last index of each stretch of steps in deep windows
  index: number[];
  id: (number | null)[];
  label: (string | null)[];
  start: number[];
  host: (number | null)[];
  duration: number[];
  complete: boolean[];
}

export type SeriesUnit = "ratio" | "bytes" | "bytes_per_s" | "per_s" | "number";

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

/** What devices do over time and counters of a trace tell, in equal bins of [t0, t1). */
export interface WorkAnswer {
  origin_ns: string;
  t0: number;
  t1: number;
  series: {
    lane: number;
    id: string;
    label: string;
    unit: SeriesUnit;
    definition: string;
    why: string; // there is no such curve, "" where there is
    mean: (number | null)[];
  }[];
}

export type LaneType =
  | "host"
  | "process"
  | "device"
  | "group"
  | "pool" // of threads
  | "thread"
  | "stream"
  | "launches" // what the host does for a device: slices of threads once more
  | "counter"
  | "more"; // a row of ours

export interface LaneInfo {
  id: number;
  parent: number | null;
  type: LaneType;
  name: string;
  rows: number;
  events: number;
  busy_ns: number | null;
  operators?: number; // the depth at which they begin, of a lane with Python frames
  series?: string | string[];
  of_work?: boolean; // of a counter: its curves are made from device work, or from the samples of a trace
}

export interface TreeAnswer {
  origin_ns: string;
  t0: number;
  t1: number;
  steps: { offset: number; id: (number | null)[]; start: number[]; end: number[] };
  lanes: LaneInfo[];
}

export interface Connection {
  type: "launch" | "run" | "forward" | "backward" | "operator" | "producer" | "consumer";
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
  operator?: { row: number; name: string } | null;
  modules?: string[]; // outermost first
  stack?: string[]; // outermost first
  connections: Connection[];
}

/** Sums over groups of slices, one entry a group. */
interface Sums {
  count: number[];
  total: number[];
  self: number[];
}

export interface AreaAnswer {
  origin_ns: string;
  t0: number;
  t1: number;
  span: number;
  busy: number;
  idle: number;
  count: number;
  total: number;
  self: number;
  kinds: Sums & { kind: number[]; busy: number[] };
  names: Sums & { name: string[]; kind: number[]; min: number[]; max: number[] };
  name_count: number;
  lanes: Sums & { lane: number[]; busy: number[] };
}

export interface SearchAnswer {
  count: number;
  offset: number;
  row: number[];
  lane: number[];
  depth: number[];
  start: number[];
  dur: number[];
  marks: number[];
  names: string[];
  counts: number[];
  name_count: number;
}

export interface PlaceAnswer {
  row: number;
  name: string;
  lane: number;
  depth: number;
  start: number;
  dur: number;
}

export interface ArrowsAnswer {
  count: number;
  type: ("run" | "backward" | "consumer")[];
  from_row: number[];
  from_lane: number[];
  from_depth: number[];
  from_t: number[];
  to_row: number[];
  to_lane: number[];
  to_depth: number[];
  to_t: number[];
}

export interface PeerAnswer {
  origin_ns: string;
  t0: number;
  t1: number;
  steps: TreeAnswer["steps"];
  lane: number | null;
  name: string | null;
  rows: number;
}

/** The server reads the worker's files for the first time, or would, had nobody cancelled that: ask again. */
export class Importing extends Error {
  constructor(
    message: string,
    readonly state: "importing" | "cancelled" = "importing",
    readonly canCancel = false,
  ) {
    super(message);
  }
}

/** The server answered with a sentence, or could not be reached (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const EARLY_MS = 10_000;

/** Requests that the entry sent before this module was there, by their address; each answers one request. */
let early = new Map<string, Promise<Response>>();

export function sentEarly(requests: Map<string, Promise<Response>>): void {
  early = requests;
  setTimeout(() => early.clear(), EARLY_MS); // what nobody took is out of date by then
}

async function send(url: string, init: RequestInit): Promise<Response> {
  const sent = early.get(url);
  early.delete(url);
  const answer = await sent;
  // A run that was not listed yet when the entry asked may be by now.
  return answer && answer.status !== 404 ? answer : fetch(url, init);
}

async function request(route: string, params: Params, signal?: AbortSignal, init?: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await send(address(route, params), { signal, ...ASKED, ...init });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "The server does not answer. Is TensorBoard still running?");
  }
  if (response.status === 202) {
    const body = (await response.json().catch(() => ({}))) as {
      detail?: string;
      state?: "importing" | "cancelled";
      can_cancel?: boolean;
    };
    throw new Importing(body.detail ?? "", body.state, body.can_cancel);
  }
  if (!response.ok) {
    const body = (await response.json().catch(() => ({}))) as { error?: string };
    throw new ApiError(response.status, body.error ?? `The server answered ${response.status} for ${route}.`);
  }
  return response;
}

/** What changes nothing that is on show, or is asked for again and again. */
const BESIDES = new Set(["runs", "ahead", "control/status"]);

export async function json<T>(route: string, params: Params, signal?: AbortSignal): Promise<T> {
  const read = async () => (await request(route, params, signal)).json() as Promise<T>;
  return BESIDES.has(route) ? read() : counted(read());
}

/** For the routes that change something. */
export async function post<T>(route: string, body: object): Promise<T> {
  // Asked for each time: the server may have been started anew since.
  const token = (await json<{ token: string | null }>("control/token", {})).token ?? "";
  const headers = { "Content-Type": "application/json", "X-Stepscope-Token": token };
  return (
    await request(route, {}, undefined, { method: "POST", headers, body: JSON.stringify(body) })
  ).json() as Promise<T>;
}

export interface WorkerKey {
  run: string;
  worker: string;
}

export const getRuns = (signal?: AbortSignal) => json<RunsAnswer>("runs", {}, signal);

export const getSummary = (key: WorkerKey, signal?: AbortSignal) => json<SummaryAnswer>("summary", { ...key }, signal);

export const getOverview = (key: WorkerKey, points: number, signal?: AbortSignal) =>
  json<OverviewAnswer>("steps/overview", { ...key, points }, signal);

export const getWork = (
  key: WorkerKey,
  { t0, t1, bins, lanes }: { t0: number; t1: number; bins: number; lanes: readonly number[] },
  signal?: AbortSignal,
) => json<WorkAnswer>("timeline/curves", { ...key, t0, t1, bins, lanes: lanes.join(",") }, signal);

export const getResources = (
  key: WorkerKey,
  range: { t0: number; t1: number } | null,
  points: number,
  signal?: AbortSignal,
) => json<ResourcesAnswer>("resources", { ...key, ...(range && wholeRange(range)), points }, signal);

/** The tree, with the steps that are held already: those are not sent again. */
export async function getTree(key: WorkerKey, held: TreeAnswer | null, signal?: AbortSignal): Promise<TreeAnswer> {
  const steps = held?.steps.start.length ?? 0;
  const known = steps > 0 ? { steps, last: held?.steps.start[steps - 1] } : {};
  return withSteps(held, await json<TreeAnswer>("timeline/tree", { ...key, ...known }, signal));
}

export function withSteps(held: TreeAnswer | null, answer: TreeAnswer): TreeAnswer {
  const { offset, id, start, end } = answer.steps;
  if (!held || offset === 0) return answer;
  const before = held.steps;
  const steps =
    id.length === 0
      ? before
      : { offset: 0, id: [...before.id, ...id], start: [...before.start, ...start], end: [...before.end, ...end] };
  return { ...answer, steps };
}

export async function getView(
  key: WorkerKey,
  range: { t0: number; t1: number },
  px: number,
  lanes: readonly number[],
  withGroups: boolean,
  signal?: AbortSignal,
): Promise<ViewTable> {
  const params = { ...key, ...wholeRange(range), px, lanes: lanes.join(","), groups: withGroups ? 1 : null };
  const read = async () => (await request("timeline/view", params, signal)).arrayBuffer();
  return decodeView(new Uint8Array(await counted(read())));
}

export const getSlice = (key: WorkerKey, row: number, signal?: AbortSignal) =>
  json<SliceAnswer>("timeline/slice", { ...key, row }, signal);

export const findByName = (key: WorkerKey, name: string, signal?: AbortSignal) =>
  json<{ count: number; rows: number[] }>("timeline/find", { ...key, name }, signal);

type Lanes = readonly number[] | null; // null: all

export const getArea = (key: WorkerKey, range: { t0: number; t1: number }, lanes: Lanes, signal?: AbortSignal) =>
  json<AreaAnswer>("timeline/area", { ...key, ...wholeRange(range), lanes: lanes && lanes.join(",") }, signal);

export interface Query {
  text: string;
  regex: boolean;
  matchCase: boolean;
  args: boolean;
  exact: boolean;
}

export const search = (key: WorkerKey, query: Query, offset: number, buckets: number, signal?: AbortSignal) => {
  const flag = (on: boolean) => (on ? 1 : null);
  const params = {
    ...key,
    text: query.text,
    regex: flag(query.regex),
    case: flag(query.matchCase),
    exact: flag(query.exact),
    where: query.args && !query.exact ? "both" : "names",
    offset,
    buckets,
  };
  return json<SearchAnswer>("timeline/search", params, signal);
};

export const getNeighbour = (key: WorkerKey, row: number, by: 1 | -1) =>
  json<{ slice: PlaceAnswer | null }>("timeline/neighbour", { ...key, row, by });

export const getArrows = (
  key: WorkerKey,
  range: { t0: number; t1: number },
  lanes: readonly number[],
  signal?: AbortSignal,
) => json<ArrowsAnswer>("timeline/arrows", { ...key, ...wholeRange(range), lanes: lanes.join(",") }, signal);

export const getPeer = (key: WorkerKey, peer: string, lane: number, signal?: AbortSignal) =>
  json<PeerAnswer>("timeline/peer", { ...key, peer, lane }, signal);

/** Where a part of the timeline is saved from. */
export function exportAddress(key: WorkerKey, range: { t0: number; t1: number }, lanes: Lanes, to: "trace" | "csv") {
  return address("timeline/export", { ...key, ...wholeRange(range), lanes: lanes && lanes.join(","), to });
}

export const fetchExport = async (key: WorkerKey, range: { t0: number; t1: number }, lanes: Lanes) =>
  (
    await request("timeline/export", { ...key, ...wholeRange(range), lanes: lanes && lanes.join(","), to: "trace" })
  ).arrayBuffer();

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
