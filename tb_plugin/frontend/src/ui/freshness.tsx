// The end of the header: whether the job runs, how it ended, and how old its newest data is.

import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import type { WorkerInfo } from "../api";
import { clockMs, isLive, isWhole, runs, shown, updatedMs } from "../data";
import { freshnessText, ofRun } from "../freshness";

export function Freshness(): JSX.Element | null {
  const of = useComputed<WorkerInfo | null>(() => {
    const { run, worker } = shown.value;
    return isWhole.value && run ? ofRun(run.workers) : worker;
  });
  const text = useComputed(() => {
    if (runs.now.value.state === "error") return runs.now.value.detail;
    return of.value && freshnessText(of.value, isLive.value, updatedMs.value, clockMs.value);
  });
  const worker = of.value;
  if (!worker) return null;
  const isBroken = worker.state !== null && worker.state !== "running" && worker.state !== "finished";
  const state = runs.now.value.state === "error" ? "lost" : isLive.value ? "live" : isBroken ? "broken" : "finished";
  const at = updatedMs.value;
  const when =
    at === null ? "" : `${worker.source === "file" ? "File written" : "Last data"} at ${new Date(at).toLocaleString()}`;
  return (
    <span
      class={`freshness ${state}`}
      data-testid="freshness"
      title={[text.value, when, !isLive.value && worker.detail].filter(Boolean).join("\n")}
    >
      <span class="dot" aria-hidden="true" />
      <span>{text}</span>
    </span>
  );
}
