// The view as text in the address: what the hash of TensorBoard's page says about our tab, both ways.
// TensorBoard reads the hash as `<plugin>&key=value&...` and keeps keys that are not its own; keys of a plugin begin
// with `p.<plugin>.`.

import { decodeDashboard, encodeDashboard, INITIAL_DASHBOARD, type DashboardView } from "./dashboard/view";
import { decodeTime, encodeTime, INITIAL_TIME, type TimeView } from "./time/view";
import { decodeXla, encodeXla, INITIAL_XLA, type XlaView } from "./xla/view";
import { decodeTable, encodeTable, INITIAL_TABLE, type TableView } from "./table/view";

export type Tab = "summary" | "steps" | "timeline" | "tables" | "memory" | "resources" | "xla" | "compare" | "data";
export const TABS: readonly Tab[] = [
  "summary",
  "steps",
  "timeline",
  "tables",
  "memory",
  "resources",
  "xla",
  "compare",
  "data",
];

const INITIAL_ALLOCATIONS: TableView = { ...INITIAL_TABLE, table: "allocations" };

/** A viewport in absolute time, so that a link stays right whatever the worker's origin. */
export interface Span {
  start: bigint; // Unix ns
  fraction: number; // of a ns, past start: deep zooms move by less; not worth telling in a link
  width: number; // ns
}

export interface ViewState {
  run: string | null;
  worker: string | null;
  whole: boolean; // all workers of the run beside each other
  measure: string | null; // what they are compared by; null: what the data allows
  tab: Tab;
  span: Span | null; // null: the whole trace
  slice: number | null; // selected row
  by: "activity" | "phase" | null; // null: what the data has
  scale: "absolute" | "share";
  steps: "all" | "deep" | null;
  fold: readonly number[]; // lanes whose folding differs from the default
  pins: readonly number[]; // lanes that are kept on top, in this order
  filter: string; // words that the shown lanes have in their path
  idle: boolean; // idle threads are shown too
  moves: readonly Pair[]; // [lane, the sibling that it goes before, or 0: to the end], in turn
  sizes: readonly Pair[]; // [lane, rows shown]
  tops: readonly Pair[]; // [lane, the outermost depth shown]
  labels: number | null; // width of the lanes' names in pixels
  color: Coloring;
  arrows: "selected" | "all";
  find: string; // what is searched for
  rules: string; // letters: r regular expression, c match case, a in arguments too, e the exact name
  area: Area | null; // the marked interval
  among: boolean; // the step breakdown shows the steps in the marked interval only
  compare: Compare | null;
  against: Against | null; // what the Compare tab compares the shown worker with
  joined: Joined | null; // which of its tables; null: what the data has
  within: string; // path of the module whose parts its tree shows
  of: string | null; // the worker of the selected slice, where it is not the shown one
  tables: TableView;
  dashboard: DashboardView;
  memory: TimeView;
  resources: TimeView;
  allocations: TableView;
  xla: XlaView;
}

export type Pair = readonly [number, number];

export type Coloring = "kind" | "name" | "stream" | "module";
export const COLORINGS: readonly Coloring[] = ["kind", "name", "stream", "module"];

export interface Area {
  start: bigint; // Unix ns
  width: number; // ns
  lanes: readonly number[] | null; // those marked, with all below them; null: every lane
}

/** A lane beside those of other workers, aligned where a step begins; null: by the clock. */
export interface Compare {
  lane: number;
  step: number | null;
}

/** Another worker, usually of another run; null: the first one of the run. */
export interface Against {
  run: string;
  worker: string | null;
}

export type Joined = "kernels" | "operators" | "modules" | "tree";
export const JOINED: readonly Joined[] = ["kernels", "operators", "modules", "tree"];

export const INITIAL: ViewState = {
  run: null,
  worker: null,
  whole: false,
  measure: null,
  tab: "summary",
  span: null,
  slice: null,
  by: null,
  scale: "absolute",
  steps: null,
  fold: [],
  pins: [],
  filter: "",
  idle: false,
  moves: [],
  sizes: [],
  tops: [],
  labels: null,
  color: "kind",
  arrows: "selected",
  find: "",
  rules: "",
  area: null,
  among: false,
  compare: null,
  against: null,
  joined: null,
  within: "",
  of: null,
  tables: INITIAL_TABLE,
  dashboard: INITIAL_DASHBOARD,
  memory: INITIAL_TIME,
  resources: INITIAL_TIME,
  allocations: INITIAL_ALLOCATIONS,
  xla: INITIAL_XLA,
};

/** What belongs to one worker: another one has other lanes and slices. */
export const OF_WORKER = {
  span: null,
  slice: null,
  fold: [],
  pins: [],
  filter: "",
  moves: [],
  sizes: [],
  tops: [],
  area: null,
  among: false,
  compare: null,
  of: null,
  memory: INITIAL_TIME,
  resources: INITIAL_TIME,
  allocations: INITIAL_ALLOCATIONS,
  xla: INITIAL_XLA,
} satisfies Partial<ViewState>;

const MOST_LANES = 60; // of a list in the address: links stay short enough to send

const PREFIX = "p.stepscope.";

/** Keys and values of a hash; `plugin` is the part without a key. */
export function parseHash(hash: string): { plugin: string; values: Map<string, string> } {
  const values = new Map<string, string>();
  let plugin = "";
  for (const part of hash.replace(/^#/, "").split("&")) {
    const at = part.indexOf("=");
    if (at < 0) {
      plugin ||= decode(part);
    } else {
      values.set(decode(part.slice(0, at)), decode(part.slice(at + 1)));
    }
  }
  return { plugin, values };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray % in a hand-made link
  }
}

/** The state a hash describes; what it does not say, or says wrongly, takes its initial value. */
export function decodeState(hash: string): ViewState {
  const { values } = parseHash(hash);
  const get = (key: string) => values.get(PREFIX + key) ?? null;
  const oneOf = <T extends string, D>(key: string, allowed: readonly T[], otherwise: D): T | D => {
    const value = get(key) as T | null;
    return value !== null && allowed.includes(value) ? value : otherwise;
  };
  return {
    run: get("run"),
    worker: get("worker"),
    whole: get("workers") === "all",
    measure: get("measure"),
    tab: oneOf("tab", TABS, INITIAL.tab),
    span: decodeSpan(get("at")),
    slice: wholeNumber(get("slice")),
    by: oneOf("by", ["activity", "phase"] as const, null),
    scale: oneOf("scale", ["absolute", "share"] as const, INITIAL.scale),
    steps: oneOf("steps", ["all", "deep"] as const, null),
    fold: numbers(get("fold"), ","),
    pins: numbers(get("pin"), ","),
    filter: get("lanes") ?? "",
    idle: get("idle") === "1",
    moves: pairs(get("order")),
    sizes: pairs(get("size")).filter(([, rows]) => rows > 0),
    tops: pairs(get("top")),
    labels: wholeNumber(get("names")),
    color: oneOf("color", COLORINGS, INITIAL.color),
    arrows: oneOf("arrows", ["selected", "all"] as const, INITIAL.arrows),
    find: get("find") ?? "",
    rules: [...new Set(get("rules") ?? "")].filter((letter) => "rcae".includes(letter)).join(""),
    area: decodeArea(get("area")),
    among: get("among") === "1",
    compare: decodeCompare(get("compare")),
    against: decodeAgainst(get("with"), get("withworker")),
    joined: oneOf("joined", JOINED, null),
    within: get("within") ?? "",
    of: get("of"),
    tables: decodeTable(get),
    dashboard: decodeDashboard(get),
    memory: decodeTime(get, "m", decodeSpan),
    resources: decodeTime(get, "r", decodeSpan),
    allocations: { ...decodeTable((key) => get(`m${key}`)), table: "allocations" },
    xla: decodeXla(get),
  };
}

function numbers(text: string | null, separator: string): number[] {
  return (text ?? "")
    .split(separator)
    .map(wholeNumber)
    .filter((n): n is number => n !== null);
}

function pairs(text: string | null): Pair[] {
  return (text ?? "").split(",").flatMap((part) => {
    const both = numbers(part, ".");
    return both.length === 2 ? [[both[0], both[1]] as const] : [];
  });
}

/** "start,width" and, where only some lanes are marked, their ids: "start,width,3.5.7". */
function decodeArea(text: string | null): Area | null {
  const [start, width, lanes] = text?.split(",") ?? [];
  const at = decodeSpan(`${start},${width}`);
  return at && { start: at.start, width: at.width, lanes: lanes === undefined ? null : numbers(lanes, ".") };
}

/** "lane" or "lane,step". */
function decodeCompare(text: string | null): Compare | null {
  const [lane, step] = (text ?? "").split(",").map(wholeNumber);
  return lane === null || lane === undefined ? null : { lane, step: step ?? null };
}

function decodeAgainst(run: string | null, worker: string | null): Against | null {
  return run === null ? null : { run, worker };
}

function wholeNumber(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function decodeSpan(text: string | null): Span | null {
  const match = text?.match(/^(-?\d{1,19}),(\d+(?:\.\d+)?)$/);
  if (!match || Number(match[2]) <= 0) return null;
  return { start: BigInt(match[1]), fraction: 0, width: Number(match[2]) };
}

/** The hash that describes a state, keeping what others keep in it. Only what differs from the initial state is told. */
export function encodeState(state: ViewState, current: string, plugin = "stepscope"): string {
  const { plugin: shown, values } = parseHash(current);
  for (const key of [...values.keys()]) if (key.startsWith(PREFIX)) values.delete(key);
  const set = (key: string, value: string | null) => {
    if (value !== null && value !== "") values.set(PREFIX + key, value);
  };
  set("run", state.run);
  set("worker", state.worker);
  set("workers", state.whole ? "all" : null);
  set("measure", state.measure);
  set("tab", state.tab === INITIAL.tab ? null : state.tab);
  set("at", state.span && `${state.span.start},${Math.round(state.span.width * 1000) / 1000}`);
  set("slice", state.slice === null ? null : String(state.slice));
  set("by", state.by);
  set("scale", state.scale === INITIAL.scale ? null : state.scale);
  set("steps", state.steps);
  set("fold", state.fold.slice(0, MOST_LANES).join(","));
  set("pin", state.pins.slice(0, MOST_LANES).join(","));
  set("lanes", state.filter);
  set("idle", state.idle ? "1" : null);
  set("order", pairsText(state.moves));
  set("size", pairsText(state.sizes));
  set("top", pairsText(state.tops));
  set("names", state.labels === null ? null : String(state.labels));
  set("color", state.color === INITIAL.color ? null : state.color);
  set("arrows", state.arrows === INITIAL.arrows ? null : state.arrows);
  set("find", state.find);
  set("rules", state.rules);
  set("area", state.area && areaText(state.area));
  set("among", state.among ? "1" : null);
  set("compare", state.compare && [state.compare.lane, state.compare.step].filter((n) => n !== null).join(","));
  set("with", state.against?.run ?? null);
  set("withworker", state.against?.worker ?? null);
  set("joined", state.joined);
  set("within", state.within);
  set("of", state.of);
  for (const [key, value] of encodeTable(state.tables)) set(key, value);
  for (const [key, value] of encodeDashboard(state.dashboard)) set(key, value);
  for (const [key, value] of encodeTime(state.memory, "m")) set(key, value);
  for (const [key, value] of encodeTime(state.resources, "r")) set(key, value);
  for (const [key, value] of encodeTable({ ...state.allocations, table: INITIAL_TABLE.table })) set(`m${key}`, value);
  for (const [key, value] of encodeXla(state.xla)) set(key, value);
  const parts = [encodeURIComponent(shown || plugin)];
  for (const [key, value] of values) parts.push(`${encodeURIComponent(key)}=${encodeURIComponent(value)}`);
  return `#${parts.join("&")}`;
}

const pairsText = (list: readonly Pair[]) =>
  list
    .slice(-MOST_LANES)
    .map((pair) => pair.join("."))
    .join(",");

function areaText(area: Area): string {
  const width = Math.round(area.width * 1000) / 1000;
  const lanes = area.lanes === null ? [] : [area.lanes.slice(0, MOST_LANES).join(".")];
  return [area.start, width, ...lanes].join(",");
}
