// Once the page has rested on a worker, what the other tabs begin with is read ahead: by the server, half a second's work
// for a million events, then by the page. Not of a running job, whose data change, nor of each worker that one only
// leafs through.

import { effect } from "@preact/signals";
import { render } from "preact";
import { Importing, json, type WorkerKey } from "./api";
import { freshness, isLive, isWhole, key, summary } from "./data";
import { isVisible } from "./host";
import { tab, theme } from "./state";
import { StepsTab } from "./tabs/steps";
import { TimelineTab } from "./tabs/timeline";
import { drawScene } from "./timeline/draw";
import { namesWidth } from "./timeline/lanes";
import { timeline } from "./timeline/model";
import { TOP } from "./timeline/scene";
import { sceneOf } from "./timeline/scene-of";
import { prepareCanvas } from "./ui/canvas";
import { isUnderWay } from "./under-way";

const REST_MS = 800;
const LOOK_MS = 50;
const MOST_WAIT_MS = 3000;

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
  timeline.groupsOf = at;
  if (tab.peek() !== "timeline") void timeline.prepare(at, freshness.peek(), innerWidth - namesWidth());
  // What runs for the first time takes twice as long. Measured on a million events: opened for the first time, a tab
  // that was made once answers in little more than half the time.
  if (tab.peek() !== "steps") await rehearseSteps(at);
  else await answers(at);
  if (at === key.peek() && tab.peek() !== "timeline") rehearseTimeline();
}

/** Until no answer is under way any more. */
async function answers(at: WorkerKey, isWanted = () => true): Promise<void> {
  const began = performance.now();
  do await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  while (isUnderWay() && performance.now() - began < MOST_WAIT_MS && at === key.peek() && isWanted());
}

/** Make the tab with the most parts once, out of sight: its answers are kept too. */
async function rehearseSteps(at: WorkerKey): Promise<void> {
  const box = document.createElement("div"); // it never gets into the page
  render(<StepsTab />, box);
  await answers(at, () => tab.peek() !== "steps");
  render(null, box);
}

/** Make the tab with the most code once, and draw it; it is gone before a frame is painted. */
function rehearseTimeline(): void {
  if (timeline.source.now.peek().state !== "ready") return;
  const box = document.createElement("div");
  box.className = "rehearsal";
  document.body.append(box); // it measures itself
  render(<TimelineTab />, box);
  const ctx = prepareCanvas(document.createElement("canvas"), timeline.width.peek(), timeline.space.peek() + TOP);
  if (ctx) drawScene(ctx, sceneOf(timeline, theme.peek()));
  render(null, box);
  box.remove();
}

export function startAhead(): void {
  effect(() => {
    const at = key.value;
    if (at && summary.now.value.state === "ready") setTimeout(readAhead, REST_MS, at);
  });
}
