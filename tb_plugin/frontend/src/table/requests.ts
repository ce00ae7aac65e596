// The routes of the tables (docs/api.md).

import { address } from "../address";
import { json, type Percentiles, type WorkerKey } from "../api";
import { encodeBounds, isTree, SINGLE, type TableView } from "./view";

export type Unit =
  | "text"
  | "word"
  | "flag"
  | "id"
  | "count"
  | "number"
  | "ns"
  | "moment"
  | "bytes"
  | "bytes_per_s"
  | "flop"
  | "flop_per_s"
  | "ratio"
  | "share";

export const isText = (unit: Unit) => unit === "text" || unit === "word";

/** Columns that read from the left. */
export const isWords = (unit: Unit) => isText(unit) || unit === "flag";

export interface ColumnInfo {
  key: string;
  label: string;
  unit: Unit;
  about: string;
  shown: boolean;
  spare?: number; // left out where there is no room, the largest first; 0: never
}

export type Value = number | string | boolean | null;

export interface RowsAnswer {
  origin_ns: string;
  by: string;
  groupings: { key: string; label: string }[];
  columns: ColumnInfo[];
  name: string;
  sort: string;
  count: number; // rows that the filter leaves
  total: number; // all rows
  occurrences: number;
  why_empty: string | null;
  offset: number;
  id: number[];
  values: Record<string, (number | boolean | null)[]>; // of texts: positions in `texts`
  texts: string[];
  depth: number[] | null; // of a tree
  has_children: boolean[] | null;
}

export interface Histogram {
  edges_ns: number[];
  count: number[];
  above: number;
  longest_ns: number;
}

export interface DetailsAnswer {
  origin_ns: string;
  id: number;
  values: Record<string, Value>;
  count: number;
  at: number | null;
  median: number | null;
  slowest: number | null;
  occurrence: { row: number; start: number; dur: number } | null;
  histogram: Histogram | null;
  time_ns: Percentiles | null;
}

export interface QueueCurve {
  name: string;
  count: number;
  max: number;
  mean: number | null;
  empty_ratio: number | null;
  t: number[];
  depth: number[];
}

export interface LaunchesAnswer {
  origin_ns: string;
  launches: {
    count: number;
    row: number[];
    t: number[];
    latency: number[];
    queue_wait: number[];
    names: string[];
    name: number[];
  };
  queues: QueueCurve[];
  queue_count: number;
  count: number | null;
  linked: number | null;
  without_run: number | null;
  runs_without_launch: number | null;
  negative: number | null;
}

/** Rows that are fetched at once. */
export const PAGE = 200;

/** What a view asks the server for. */
function params(key: WorkerKey, view: TableView): Record<string, string | number | null> {
  return {
    ...key,
    table: view.table,
    by: view.by,
    sort: view.sort,
    ascending: view.ascending ? 1 : null,
    text: view.text || null,
    regex: view.text && view.regex ? 1 : null,
    bounds: encodeBounds(view.bounds) || null,
    within: view.by === SINGLE && view.within ? `${view.within.by}:${view.within.id}` : null,
    levels: isTree(view.table) ? view.levels : null,
    toggled: isTree(view.table) && view.toggled.length ? view.toggled.join(",") : null,
  };
}

/** What changes when the rows of a view do. */
export const identity = (key: WorkerKey, view: TableView) => JSON.stringify(params(key, view));

export const getRows = (key: WorkerKey, view: TableView, page: number, signal?: AbortSignal) =>
  json<RowsAnswer>("tables/rows", { ...params(key, view), offset: page * PAGE, limit: PAGE }, signal);

export const getDetails = (key: WorkerKey, view: TableView, id: number, at: string | number, signal?: AbortSignal) =>
  json<DetailsAnswer>("tables/details", { ...key, table: view.table, by: view.by, id, at }, signal);

const LAUNCH_POINTS = 2000; // more than the charts have pixels on most screens

export const getLaunches = (key: WorkerKey, signal?: AbortSignal) =>
  json<LaunchesAnswer>("tables/launches", { ...key, points: LAUNCH_POINTS }, signal);

/** Operations by what they do and how fast; lists of one length, the largest self time first. */
export interface RooflineAnswer {
  origin_ns: string;
  id: number[]; // rows of the table, grouped by operation or by shapes
  name: string[];
  detail: (string | null)[]; // the program, or the shapes of the inputs
  category: (string | null)[];
  intensity: number[]; // FLOP/byte
  flop_per_s: number[];
  self_ns: number[];
  share: number[];
  of_roof: (number | null)[];
  count: number;
  without_flops: number;
  without_flops_ns: number;
  on_device: boolean;
  ceilings: { model: string; source: string; bytes_per_s: number; flop_per_s: Record<string, number> } | null;
}

export const getRoofline = (key: WorkerKey, table: "hlo" | "operators", signal?: AbortSignal) =>
  json<RooflineAnswer>("tables/roofline", { ...key, table }, signal);

/** Where the rows of a view are saved from. */
export const tableAddress = (
  key: WorkerKey,
  view: TableView,
  to: "csv" | "parquet",
  columns: readonly string[] | null,
) => address("tables/export", { ...params(key, view), to, columns: columns && columns.join(",") });
