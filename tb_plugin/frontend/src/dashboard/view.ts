// What the panels of the Summary tab and the Step breakdown show, as keys of the address.

/** Lists of where the work comes from. */
export const HOT_LISTS = ["hlo", "operators", "modules", "annotations"] as const;
export type HotList = (typeof HOT_LISTS)[number];

export interface DashboardView {
  kernels: number; // how many are shown apart
  list: HotList | null; // null: the first that has rows
  histograms: readonly string[]; // names of annotations
  findings: readonly string[]; // rules whose findings are open
  host: boolean; // steps end with their marker instead of their device work
  device: boolean; // phases as a device went through them
  range: Range | null; // the steps that the statistics are of
  step: number | null; // position of the step that is compared with the usual one
  flame: "device" | "host" | null; // null: what the capture has
  each: boolean; // equal modules one by one
  module: readonly string[]; // path of the module that fills the flame graph
}

/** Positions among all steps, both included. */
export interface Range {
  first: number;
  last: number;
}

export const DEFAULT_KERNELS = 15;
export const MOST_KERNELS = 200;
const MOST_HISTOGRAMS = 12;
const MOST_FINDINGS = 20;

export const INITIAL_DASHBOARD: DashboardView = {
  kernels: DEFAULT_KERNELS,
  list: null,
  histograms: [],
  findings: [],
  host: false,
  device: false,
  range: null,
  step: null,
  flame: null,
  each: false,
  module: [],
};

/** Another worker has other steps and modules; histograms, open findings and the number of kernels stay. */
export const ofOtherRun = (view: DashboardView): DashboardView => ({ ...view, range: null, step: null, module: [] });

export function decodeDashboard(get: (key: string) => string | null): DashboardView {
  const flame = get("flame");
  const list = get("list") as HotList | null;
  return {
    kernels: Math.min(Math.max(position(get("k")) ?? DEFAULT_KERNELS, 1), MOST_KERNELS),
    list: list !== null && HOT_LISTS.includes(list) ? list : null,
    histograms: [...new Set(texts(get("hist")))].slice(0, MOST_HISTOGRAMS),
    findings: [...new Set((get("finding") ?? "").split(",").filter((rule) => /^[a-z_]{1,60}$/.test(rule)))].slice(
      0,
      MOST_FINDINGS,
    ),
    host: get("host") === "1",
    device: get("device") === "1",
    range: decodeRange(get("range")),
    step: position(get("step")),
    flame: flame === "device" || flame === "host" ? flame : null,
    each: get("each") === "1",
    module: texts(get("module")),
  };
}

export function encodeDashboard(view: DashboardView): [string, string | null][] {
  return [
    ["k", view.kernels === DEFAULT_KERNELS ? null : String(view.kernels)],
    ["list", view.list],
    ["hist", jsonList(view.histograms)],
    ["finding", view.findings.join(",") || null],
    ["host", view.host ? "1" : null],
    ["device", view.device ? "1" : null],
    ["range", view.range && `${view.range.first}-${view.range.last}`],
    ["step", view.step === null ? null : String(view.step)],
    ["flame", view.flame],
    ["each", view.each ? "1" : null],
    ["module", jsonList(view.module)],
  ];
}

const position = (text: string | null) => (text !== null && /^\d{1,12}$/.test(text) ? Number(text) : null);

function decodeRange(text: string | null): Range | null {
  const match = text?.match(/^(\d{1,12})-(\d{1,12})$/);
  if (!match || Number(match[2]) < Number(match[1])) return null;
  return { first: Number(match[1]), last: Number(match[2]) };
}

/** Names as a JSON list: they may hold any character. */
const jsonList = (names: readonly string[]) => (names.length ? JSON.stringify(names) : null);

function texts(text: string | null): string[] {
  try {
    const found: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(found) ? found.filter((one): one is string => typeof one === "string" && one !== "") : [];
  } catch {
    return [];
  }
}
