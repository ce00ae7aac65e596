// All steps of one worker as columns. They come in pages; while the job runs only the tail is fetched again.

import { getSteps, type StepsAnswer, type WorkerKey } from "./api";
import { ACTIVITIES, PHASES, type Activity, type Phase } from "./kinds";

export interface Steps {
  origin: string;
  count: number;
  id: (number | null)[];
  label: (string | null)[];
  start: number[];
  host: (number | null)[];
  duration: number[];
  complete: boolean[];
  inferred: boolean[];
  activity: Record<Activity, (number | null)[]>;
  phase: Record<Phase, (number | null)[]>;
}

export interface Share<K extends string> {
  key: K;
  ns: number;
  ratio: number;
}

export interface Totals<K extends string> {
  total_ns: number;
  shares: Share<K>[];
}

export const PAGE = 2000;
const RECENT = 50; // steps at the end that can still change: completed late, phases written with a delay

export function emptySteps(origin: string): Steps {
  const columns = <K extends string>(keys: readonly K[]) =>
    Object.fromEntries(keys.map((key) => [key, []])) as unknown as Record<K, (number | null)[]>;
  return {
    origin,
    count: 0,
    id: [],
    label: [],
    start: [],
    host: [],
    duration: [],
    complete: [],
    inferred: [],
    activity: columns(ACTIVITIES),
    phase: columns(PHASES),
  };
}

/** The steps with a page put in at its offset. Steps behind the page's end are dropped if the page is the last. */
export function withPage(steps: Steps, page: StepsAnswer): Steps {
  const at = page.offset;
  const put = <T>(old: T[], values: T[] | undefined, absent: T): T[] => {
    const kept = old.slice(0, at);
    for (let i = 0; i < page.id.length; i += 1) kept.push(values ? (values[i] ?? absent) : absent);
    return kept;
  };
  const columns = <K extends string>(old: Record<K, (number | null)[]>, values: Record<string, (number | null)[]>) =>
    Object.fromEntries((Object.keys(old) as K[]).map((key) => [key, put(old[key], values?.[key], null)])) as Record<
      K,
      (number | null)[]
    >;
  return {
    origin: page.origin_ns,
    count: page.count,
    id: put(steps.id, page.id, null),
    label: put(steps.label, page.label, null),
    start: put(steps.start, page.start, 0),
    host: put(steps.host, page.host, null),
    duration: put(steps.duration, page.duration, 0),
    complete: put(steps.complete, page.complete, true),
    inferred: put(steps.inferred, page.inferred, false),
    activity: columns(steps.activity, page.activity),
    phase: columns(steps.phase, page.phase),
  };
}

/**
 * Fetch what `held` lacks. `all` asks for every page, as when a deep window has been added to old steps.
 * `progress` sees the steps so far after every page.
 */
export async function fetchSteps(
  key: WorkerKey,
  held: Steps | null,
  all: boolean,
  progress: (steps: Steps) => void,
  signal: AbortSignal,
): Promise<Steps> {
  let steps = held;
  const wholesale = all || !held || held.id.length <= PAGE; // one page is as cheap as its tail
  let offset = !wholesale ? Math.max(0, held.id.length - RECENT) : 0;
  for (;;) {
    const page = await getSteps(key, offset, PAGE, signal);
    steps = withPage(steps ?? emptySteps(page.origin_ns), page);
    offset = page.offset + page.id.length;
    if (page.id.length === 0 || offset >= page.count) return steps;
    // While everything is fetched anew the old tail stays on the screen.
    if (!held || offset > held.id.length) progress(steps);
  }
}

/** What a step is called: its own number, else its marker, else its place. */
export function stepName(
  steps: { id: (number | null)[]; label: (string | null)[]; index?: number[] },
  at: number,
): string {
  const id = steps.id[at];
  return id != null ? id.toLocaleString("en-US") : (steps.label[at] ?? `#${(steps.index?.[at] ?? at) + 1}`);
}

/** Whether a step has a measured partition of this kind: null stands for "not captured", 0 for "nothing". */
export function isMeasured(columns: Record<string, (number | null)[]>, index: number): boolean {
  for (const key in columns) if (columns[key][index] != null) return true;
  return false;
}

/** Indices of the steps with a measured partition. */
export function measured(columns: Record<string, (number | null)[]>, count: number): number[] {
  const indices: number[] = [];
  for (let i = 0; i < count; i += 1) if (isMeasured(columns, i)) indices.push(i);
  return indices;
}

/** The parts of a sum over steps, those above 0, in drawing order. Nulls were not measured. */
export function sharesOf<K extends string>(
  sums: Record<string, number | null> | null | undefined,
  keys: readonly K[],
): Totals<K> {
  const ns = (key: K) => sums?.[key] ?? 0;
  const total = keys.reduce((sum, key) => sum + ns(key), 0);
  return {
    total_ns: total,
    shares: keys.filter((key) => ns(key) > 0).map((key) => ({ key, ns: ns(key), ratio: ns(key) / total })),
  };
}
