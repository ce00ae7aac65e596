// "Capture" in the header: a deep window of a running job, now.

import type { JSX } from "preact";
import { useMayAsk } from "../asking";
import { capture, progress, type Asked, type Progress, type Taken } from "../capture";
import { isWhole, overview, shown } from "../data";
import { plural } from "../format";
import { openWorker } from "../state";
import { openStep } from "../tabs/open-step";
import { Icon } from "./icons";
import { Menu, type MenuItem } from "./menu";
import { workerLabel } from "./run-choices";

const STEPS = [1, 3, 10, 30];

/** Nothing where nothing runs that could be asked. */
export function Capture(): JSX.Element | null {
  const { run, worker } = shown.value;
  const live = run?.workers.filter((w) => w.live && w.source === "recording") ?? [];
  const canAsk = isWhole.value ? live.length > 0 : live.some((w) => w.id === worker?.id);
  const isOffered = useMayAsk(canAsk);
  const told = progress.value;
  if (!run || (!isOffered && told.state === "idle")) return null;
  const asked = (workers: typeof live): Asked[] => workers.map((w) => ({ id: w.id, label: workerLabel(w) }));
  const shownId = isWhole.value ? live[0]?.id : worker?.id;
  const one = { of: "", id: shownId ?? null, workers: asked(live.filter((w) => w.id === shownId)) };
  const all = { of: ` of all ${live.length} workers`, id: null, workers: asked(live) };
  const targets = live.length < 2 ? [one] : isWhole.value ? [all] : [one, all];
  const items = (): MenuItem[] =>
    targets.flatMap(({ of, id, workers }) =>
      STEPS.map((n) => ({ label: plural(n, "step") + of, act: () => void capture(run.id, id, n, workers) })),
    );
  return (
    <span class="capture" data-testid="capture">
      <span class={`capture-told ${told.state}`} role="status">
        {told.state === "waiting" && waitingText(told, live.length > 0)}
        {(told.state === "done" || told.state === "problem") && (
          <>
            <div>
              <span class="capture-text">{told.text}</span>
              {told.taken && (
                <button type="button" class="text-button" onClick={() => open(told.taken!)}>
                  Show it
                </button>
              )}
              {told.lines.map((line) => (
                <p key={line}>{line}</p>
              ))}
            </div>
            <button type="button" class="icon-button" aria-label="Dismiss" onClick={dismiss}>
              <Icon shape="close" />
            </button>
          </>
        )}
      </span>
      {told.state !== "waiting" && isOffered && (
        <Menu
          label="Capture a deep window of the running job now"
          kind="text-button"
          testId="capture-button"
          note={() => "The next steps with every operator and kernel. The job stands still for a moment at the end."}
          items={items}
        >
          Capture
          <Icon shape="chevron" />
        </Menu>
      )}
    </span>
  );
}

function waitingText({ text, last }: Progress & { state: "waiting" }, isLive: boolean): string {
  const newest = overview.now.value.value?.id.at(-1) ?? null;
  // Beyond the window: what takes time now is its conversion, which goes on without the job.
  if (last !== null && newest !== null && newest > last) return "Converting …";
  return isLive ? text : "The job is silent …";
}

function open({ run, worker, start_ns, duration_ns }: Taken): void {
  if (shown.peek().worker?.id !== worker || isWhole.peek()) openWorker(run, worker);
  openStep(start_ns, { start: [0], duration: [duration_ns] }, 0);
  dismiss();
}

function dismiss(): void {
  progress.value = { state: "idle" };
}
