// Once the page has rested on a worker, what the other tabs begin with is read ahead: by the server, half a second's work
// for a million events, then by the page. Not of a running job, whose data change, nor of each worker that one only
// leafs through.

import { effect } from "@preact/signals";
import { render } from "preact";
import { Importing, json, type WorkerKey } from "./api";
import { freshness, isLive, isWhole, key, summary } from "./data";
import { isVisible } from "./host";
import { tab } from "./state";
import { StepsTab } from "./tabs/steps";
import { namesWidth } from "./timeline/lanes";
import { timeline } from "./timeline/model";
import { isUnderWay } from "./under-way";

const REST_MS = 800;
const LOOK_MS = 50;
const MOST_REHEARSAL_MS = 3000;

let aheadOf: WorkerKey | null = null;

const isWanted = (at: WorkerKey) => at === key.peek() && !isWhole.peek() && !isLive.peek() && isVisible();

async function readAhead(at: WorkerKey): Promise<void> {
  if (at === aheadOf || !isWanted(at)) return;
  aheadOf = at;
  try {
    await json("ahead", { ...at });
  } catch (error) {
    if (!(error instanceof Importing) || at !== aheadOf) return; // whoever needs it is told what is wrong
    aheadOf = null;
    setTimeout(readAhead, REST_MS, at); // it goes on
    return;
  }
  if (!isWanted(at)) return;
  if (tab.peek() !== "timeline") void timeline.prepare(at, freshness.peek(), innerWidth - namesWidth());
  if (tab.peek() !== "steps") rehearseSteps();
}

/**
 * Make the tab with the most parts once, out of sight: its answers are kept, and what runs for the first time takes
 * twice as long. Measured on a million events: opened for the first time, it then answers in half the time.
 */
function rehearseSteps(): void {
  const box = document.createElement("div"); // it never gets into the page
  const at = key.peek();
  const began = performance.now();
  render(<StepsTab />, box);
  const look = () => {
    const isDone = !isUnderWay() || performance.now() - began > MOST_REHEARSAL_MS;
    if (isDone || at !== key.peek() || tab.peek() === "steps") render(null, box);
    else setTimeout(look, LOOK_MS);
  };
  setTimeout(look, LOOK_MS);
}

export function startAhead(): void {
  effect(() => {
    const at = key.value;
    if (at && summary.now.value.state === "ready") setTimeout(readAhead, REST_MS, at);
  });
}
