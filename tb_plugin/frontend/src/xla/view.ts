// What the XLA tab shows, as keys of the address: the program, its memory or its graph, and where in it.

export interface XlaView {
  program: string | null; // its id, or its name; null: the one that took the most time
  show: "memory" | "graph" | "text";
  at: number | null; // position in program order; null: the peak
  op: string | null; // the middle of the graph; null: what took the most time
  depth: number;
  opened: readonly string[]; // fusions whose inside is drawn
  computation: string | null; // whose text is shown; null: that of `op`
}

export const INITIAL_XLA: XlaView = {
  program: null,
  show: "memory",
  at: null,
  op: null,
  depth: 2,
  opened: [],
  computation: null,
};

export const MOST_DEPTH = 6;
const MOST_OPENED = 20; // links stay short enough to send

type Get = (key: string) => string | null;

export function decodeXla(get: Get): XlaView {
  const whole = (key: string) => (/^\d{1,9}$/.test(get(key) ?? "") ? Number(get(key)) : null);
  const depth = whole("xdepth") ?? INITIAL_XLA.depth;
  const show = get("xshow");
  return {
    program: get("xprogram"),
    show: show === "graph" || show === "text" ? show : "memory",
    at: whole("xat"),
    op: get("xop"),
    depth: Math.min(Math.max(depth, 1), MOST_DEPTH),
    opened: (get("xopened") ?? "").split(" ").filter(Boolean).slice(0, MOST_OPENED),
    computation: get("xin"),
  };
}

/** Keys and values; null for what is as at the beginning. */
export function encodeXla(view: XlaView): [string, string | null][] {
  return [
    ["xprogram", view.program],
    ["xshow", view.show === INITIAL_XLA.show ? null : view.show],
    ["xat", view.at === null ? null : String(view.at)],
    ["xop", view.op],
    ["xdepth", view.depth === INITIAL_XLA.depth ? null : String(view.depth)],
    ["xopened", view.opened.slice(0, MOST_OPENED).join(" ")],
    ["xin", view.computation],
  ];
}
