// The view as text in the address: what the hash of TensorBoard's page says about our tab, both ways.
// TensorBoard reads the hash as `<plugin>&key=value&...` and keeps keys that are not its own; keys of a plugin begin
// with `p.<plugin>.`.

export type Tab = "summary" | "steps" | "timeline";
export const TABS: readonly Tab[] = ["summary", "steps", "timeline"];

/** A viewport in absolute time, so that a link stays right whatever the worker's origin. */
export interface Span {
  start: bigint; // Unix ns
  fraction: number; // of a ns, past start: deep zooms move by less; not worth telling in a link
  width: number; // ns
}

export interface ViewState {
  run: string | null;
  worker: string | null;
  tab: Tab;
  span: Span | null; // null: the whole trace
  slice: number | null; // selected row
  by: "activity" | "phase" | null; // null: what the data has
  scale: "absolute" | "share";
  steps: "all" | "deep" | null;
  fold: readonly number[]; // lanes whose folding differs from the default
}

export const INITIAL: ViewState = {
  run: null,
  worker: null,
  tab: "summary",
  span: null,
  slice: null,
  by: null,
  scale: "absolute",
  steps: null,
  fold: [],
};

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
    tab: oneOf("tab", TABS, INITIAL.tab),
    span: decodeSpan(get("at")),
    slice: wholeNumber(get("slice")),
    by: oneOf("by", ["activity", "phase"] as const, null),
    scale: oneOf("scale", ["absolute", "share"] as const, INITIAL.scale),
    steps: oneOf("steps", ["all", "deep"] as const, null),
    fold: (get("fold") ?? "")
      .split(",")
      .map(wholeNumber)
      .filter((n): n is number => n !== null),
  };
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
  set("tab", state.tab === INITIAL.tab ? null : state.tab);
  set("at", state.span && `${state.span.start},${Math.round(state.span.width * 1000) / 1000}`);
  set("slice", state.slice === null ? null : String(state.slice));
  set("by", state.by);
  set("scale", state.scale === INITIAL.scale ? null : state.scale);
  set("steps", state.steps);
  set("fold", state.fold.slice(0, 60).join(","));
  const parts = [encodeURIComponent(shown || plugin)];
  for (const [key, value] of values) parts.push(`${encodeURIComponent(key)}=${encodeURIComponent(value)}`);
  return `#${parts.join("&")}`;
}
