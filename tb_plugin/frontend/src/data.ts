// What the pages show: the list of runs and the data of the selected worker, kept fresh while a job writes.

import { batch, computed, effect, signal } from "@preact/signals";
import {
  absoluteMs,
  getOverview,
  getResources,
  getRuns,
  getSummary,
  type OverviewAnswer,
  type ResourcesAnswer,
  type RunsAnswer,
  type SummaryAnswer,
  type WorkerKey,
} from "./api";
import { chosen } from "./chosen";
import { isVisible } from "./host";
import { imports, Resource } from "./resource";
import { adjust, nav, part, tab } from "./state";

const LIVE_MS = 2000;
const IDLE_MS = 10_000;
const OVERVIEW_POINTS = 1500; // twice what the chart has pixels on most screens

export const runs = new Resource<RunsAnswer>();
export const summary = new Resource<SummaryAnswer>();
export const overview = new Resource<OverviewAnswer>();
export const resources = new Resource<ResourcesAnswer>();

/** The time of this machine, once a second, for "2 s ago". */
export const clockMs = signal(Date.now());

/** Counts the times that new data of the shown worker was noticed. */
export const freshness = signal(0);

const runWanted = part("run");
const workerWanted = part("worker");
const wholeWanted = part("whole");

/** The run and worker on show; null where there are none. */
export const shown = computed(() => chosen(runs.now.value.value?.runs ?? [], runWanted.value, workerWanted.value));

/** Whether all workers of the run are shown; a run of one has nothing to compare. */
export const isWhole = computed(() => wholeWanted.value && (shown.value.run?.workers.length ?? 0) > 1);

const keyText = computed(() => {
  const { run, worker } = shown.value;
  return run && worker ? JSON.stringify([run.id, worker.id]) : null;
});

/** XLA compiles nothing of PyTorch's. The list of runs knows the framework only some time after a file was read. */
export const mayUseXla = computed(
  () => (shown.value.worker?.framework ?? summary.now.value.value?.worker.framework ?? "pytorch") !== "pytorch",
);

/** The rank of the worker, which the list of runs knows late, too; null where it has none. */
export const rankShown = computed(() => shown.value.worker?.rank ?? summary.now.value.value?.worker.rank ?? null);

/** Whether the worker talks to others. */
export const communicates = computed(() => (summary.now.value.value?.worker.communication ?? null) !== null);

/** Whether the worker has requests of inference, and batches of them. */
export const servesRequests = computed(() => {
  const found = summary.now.value.value?.worker.inference ?? null;
  return { requests: found !== null, batches: (found?.batches ?? null) !== null };
});

/** The ids to ask the server with; the same object until another worker is shown. */
export const key = computed<WorkerKey | null>(() => {
  if (keyText.value === null) return null;
  const [run, worker] = JSON.parse(keyText.value) as [string, string];
  return { run, worker };
});

export const isLive = computed(() => shown.value.worker?.live ?? false);

/** Unix ms of the newest data of the shown run. */
export const updatedMs = computed(() => absoluteMs(shown.value.run?.updated_ns ?? null, null));

/** Changes with the data, and when a job ends or falls silent. */
const updatedText = computed(() => `${shown.value.run?.updated_ns ?? ""} ${isLive.value}`);

function loadSummary(at: WorkerKey): void {
  if (at !== key.peek()) return; // it was put off, and another worker is shown
  void summary.load((signal) => getSummary(at, signal), true); // those of another worker were reset
}

function loadOverview(at: WorkerKey): void {
  void overview.load((signal) => getOverview(at, OVERVIEW_POINTS, signal), true);
}

function loadResources(at: WorkerKey): void {
  void resources.load((signal) => getResources(at, null, 600, signal), true);
}

// The timeline shows little of the summary, and the server would make both at once, each more slowly: the summary is
// asked for when the first rectangles are there, or none come for so long, or another tab is opened.
const NO_RECTANGLES_MS = 5000;
let timelineShows: WorkerKey | null = null;
let putOff: WorkerKey | null = null;

/** The timeline has got the first rectangles of the worker. */
export function timelineHas(at: WorkerKey): void {
  timelineShows = at;
  if (putOff !== at) return;
  putOff = null;
  loadSummary(at);
}

function loadSummaryAfterTimeline(at: WorkerKey): void {
  if (timelineShows === at) return loadSummary(at);
  putOff = at;
  setTimeout(timelineHas, NO_RECTANGLES_MS, at);
}

/** After which an answer of an earlier state is asked for again. */
export const STALE_MS = 3000;

const loadedAt = new Map<unknown, string>();

/** Fetch what the visible tab needs and is not there yet, or not as new as `stamp`; the timeline fetches its own. */
function loadTab(at: WorkerKey, stamp: string): void {
  const once = <T>(resource: Resource<T>, load: () => void) => {
    if (loadedAt.get(resource) === stamp && resource.now.peek().state !== "error") return;
    loadedAt.set(resource, stamp);
    load();
  };
  once(summary, () => (tab.peek() === "timeline" ? loadSummaryAfterTimeline : loadSummary)(at));
  if (tab.peek() !== "timeline" && putOff === at) timelineHas(at);
  if (tab.peek() !== "summary") return;
  once(overview, () => loadOverview(at));
  once(resources, () => loadResources(at));
}

async function poll(): Promise<void> {
  if (isVisible()) {
    if (!runs.busy) await runs.load(getRuns);
    clockMs.value = Date.now();
  }
  // A run that the address names and the list does not is most likely one that is just beginning.
  const isSoon = isLive.peek() || runs.now.peek().state === "error" || shown.peek().worker === null;
  setTimeout(poll, isSoon ? LIVE_MS : IDLE_MS);
}

export function startData(): void {
  void poll();
  setInterval(() => (clockMs.value = Date.now()), 1000);
  let last: WorkerKey | null = null;
  let lastStamp = "";
  effect(() => {
    const at = key.value;
    const stamp = updatedText.value;
    const isNews = at !== last || stamp !== lastStamp;
    lastStamp = stamp;
    void tab.value;
    if (at !== last) {
      last = at;
      loadedAt.clear();
      batch(() => [summary, overview, resources].forEach((resource) => resource.reset()));
    }
    if (at && !isWhole.value) loadTab(at, stamp);
    if (isNews) freshness.value = freshness.peek() + 1;
  });
  effect(() => {
    // What is on show by default is told in the address as well: a link must not lead to the next run instead.
    const { run, worker } = shown.value;
    const { run: runId, worker: workerId } = nav.peek();
    if (run && worker && (runId === null || workerId === null)) adjust({ run: run.id, worker: worker.id });
  });
  effect(() => {
    // The next state may be the last one, which no newer data announce.
    const at = key.value;
    if (!at || isWhole.value || !summary.now.value.value?.stale) return;
    const timer = setTimeout(() => {
      loadedAt.clear();
      loadTab(at, updatedText.peek());
      freshness.value += 1;
    }, STALE_MS);
    return () => clearTimeout(timer);
  });
  effect(() => {
    if (imports.value > 0) void runs.load(getRuns);
  });
}
