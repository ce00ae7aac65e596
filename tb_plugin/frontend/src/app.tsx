// The frame of the page: run and worker pickers, tabs, the live indicator, and the tab on show.

import type { JSX } from "preact";
import type { RunInfo } from "./api";
import { isWhole, mayUseXla, runs, shown } from "./data";
import { TABS, type Tab } from "./hash";
import { nav, navigate, openAllWorkers, openWorker, tab } from "./state";
import { OneWorkerOnly } from "./tabs/run-one";
import { CompareTab } from "./tabs/compare-tab";
import { DataTab } from "./tabs/data-tab";
import { MemoryTab } from "./tabs/memory-tab";
import { ResourcesTab } from "./tabs/resources-tab";
import { RunMemoryTab } from "./tabs/run-memory";
import { RunResourcesTab } from "./tabs/run-resources";
import { RunStepsTab } from "./tabs/run-steps";
import { RunSummaryTab } from "./tabs/run-summary";
import { StepsTab } from "./tabs/steps";
import { SummaryTab } from "./tabs/summary";
import { TablesTab } from "./tabs/tables";
import { TimelineTab } from "./tabs/timeline";
import { XlaTab } from "./tabs/xla-tab";
import { isolated } from "./timeline/text";
import { Capture } from "./ui/capture";
import { EmptyLogdir } from "./ui/empty";
import { Freshness } from "./ui/freshness";
import { Logo } from "./ui/icons";
import { Picker, type Choice } from "./ui/picker";
import { runChoice, workerChoice, workerOrder } from "./ui/run-choices";
import { Problem, Working } from "./ui/states";

const TAB_LABELS: Record<Tab, string> = {
  summary: "Summary",
  steps: "Step breakdown",
  timeline: "Timeline",
  tables: "Tables",
  memory: "Memory",
  resources: "Resources",
  xla: "XLA",
  compare: "Compare",
  data: "Data",
};

export function App(): JSX.Element {
  const list = runs.now.value;
  const isEmpty = list.value !== null && list.value.runs.length === 0;
  return (
    <div class="app">
      {!isEmpty && list.value && <Header />}
      <Body />
    </div>
  );
}

function Header(): JSX.Element {
  const all = runs.now.value.value?.runs ?? [];
  const { run, worker } = shown.value;
  return (
    <header class="header">
      <div class="brand" role="img" aria-label="Stepscope">
        <Logo />
      </div>
      <Picker
        label="Run"
        testId="run-picker"
        value={run?.id ?? nav.value.run}
        choices={all.map(runChoice)}
        onChoose={(id) => openWorker(id, null)}
      />
      <Picker
        label="Worker"
        testId="worker-picker"
        value={isWhole.value ? ALL_WORKERS : (worker?.id ?? nav.value.worker)}
        choices={workerChoices(run)}
        onChoose={(id) => (id === ALL_WORKERS ? openAllWorkers() : run && openWorker(run.id, id))}
      />
      <Tabs />
      <span class="spacer" />
      <Capture />
      <Freshness />
    </header>
  );
}

/** No worker has this id: those of files and folders hold no slash at their end. */
const ALL_WORKERS = "*/";

function workerChoices(run: RunInfo | null): Choice[] {
  const order = workerOrder(run);
  const all = { id: ALL_WORKERS, label: `All workers (${order.length})`, detail: "beside each other", live: run?.live };
  return order.length > 1 ? [all, ...order.map(workerChoice)] : order.map(workerChoice);
}

/** The tab of what XLA compiles is there where it may, and where a link opens it. */
const offered = (): readonly Tab[] => TABS.filter((name) => name !== "xla" || tab.value === "xla" || mayUseXla.value);

function Tabs(): JSX.Element {
  const tabs = offered();
  const go = (to: Tab) => navigate({ tab: to });
  const onKey = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const to = tabs[(tabs.indexOf(tab.peek()) + by + tabs.length) % tabs.length];
    go(to);
    document.getElementById(`tab-${to}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Views" onKeyDown={onKey}>
      {tabs.map((name) => (
        <button
          key={name}
          id={`tab-${name}`}
          type="button"
          role="tab"
          class="tab"
          aria-selected={tab.value === name}
          aria-controls="panel"
          tabIndex={tab.value === name ? 0 : -1}
          onClick={() => go(name)}
        >
          {TAB_LABELS[name]}
        </button>
      ))}
    </div>
  );
}

function Body(): JSX.Element {
  const list = runs.now.value;
  if (list.value === null) {
    if (list.state === "error") return <Problem title="The list of runs could not be read" detail={list.detail} />;
    if (list.state === "importing") return <Working title="Looking through the log directory" detail={list.detail} />;
    return <Working title="Looking for runs" />;
  }
  if (list.value.runs.length === 0) return <EmptyLogdir logdir={list.value.logdir} />;
  const { run, worker } = shown.value;
  if (!run) {
    return (
      <Problem
        title={`There is no run “${isolated(nav.value.run ?? "")}” in this log directory`}
        detail="The link may be from another log directory, or the run was removed. Choose a run above."
      />
    );
  }
  if (!worker) {
    if (run.error) return <Problem title={`${run.name} cannot be read`} detail={run.error} />;
    return run.workers.length === 0 ? (
      <Problem title={`${run.name} has no data yet`} detail="No worker has written anything into this run." quiet />
    ) : (
      <Problem
        title={`There is no worker “${isolated(nav.value.worker ?? "")}” in ${isolated(run.name)}`}
        detail="Choose a worker above."
      />
    );
  }
  // Another tab is another element: it begins at its top, and not where the one before was scrolled to.
  return (
    <div
      id="panel"
      class="panel"
      role="tabpanel"
      aria-labelledby={`tab-${tab.value}`}
      key={`${tab.value} ${isWhole.value ? run.id : `${run.id}/${worker.id}`}`}
    >
      {run.error && (
        <p class="banner warn" role="status">
          {run.error}
        </p>
      )}
      <Shown />
    </div>
  );
}

function Shown(): JSX.Element {
  const of = tab.value;
  if (isWhole.value) {
    if (of === "summary") return <RunSummaryTab />;
    if (of === "resources") return <RunResourcesTab />;
    if (of === "memory") return <RunMemoryTab />;
    return of === "steps" ? <RunStepsTab /> : <OneWorkerOnly what={TAB_LABELS[of]} />;
  }
  return (
    <>
      {tab.value === "summary" && <SummaryTab />}
      {tab.value === "steps" && <StepsTab />}
      {tab.value === "timeline" && <TimelineTab />}
      {tab.value === "tables" && <TablesTab />}
      {tab.value === "memory" && <MemoryTab />}
      {tab.value === "resources" && <ResourcesTab />}
      {tab.value === "xla" && <XlaTab />}
      {tab.value === "compare" && <CompareTab />}
      {tab.value === "data" && <DataTab />}
    </>
  );
}
