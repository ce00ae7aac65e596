// Charts are drawn a few a frame, after the frame that shows the text and the tables around them: each takes as long as
// all of these together. So they also let the answers that are under way come first, for a while.

import { isUnderWay } from "../under-way";

type Turn = () => void;

/**
 * After so long no other chart is begun in the same frame. Most take 10 to 15 ms, and each further frame as long once
 * more until it is painted; from 50 ms on a page is felt to stand still.
 */
const BUSY_MS = 20;

/** After so long nothing else comes first. */
const MOST_WAIT_MS = 100;

const waiting: Turn[] = [];
let since = 0; // when the first of those that wait came
let isAwaited = false;

/** What tells when the next frame is painted; in a window that is not shown nothing is, and nothing is drawn. */
function afterFrame(then: () => void): void {
  requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel(); // its message comes after the frame is painted
    port1.onmessage = () => {
      port1.close();
      then();
    };
    port2.postMessage(0);
  });
}

function next(): void {
  isAwaited = false;
  const began = performance.now();
  if (isUnderWay() && began - since < MOST_WAIT_MS) return awaitNext();
  do waiting.shift()?.();
  while (waiting.length > 0 && performance.now() - began < BUSY_MS);
  awaitNext();
}

function awaitNext(): void {
  if (isAwaited || waiting.length === 0) return;
  isAwaited = true;
  afterFrame(next);
}

/** Draw when it is this one's turn; the answer is how to call it off. */
export function inTurn(draw: Turn): () => void {
  if (waiting.length === 0) since = performance.now();
  waiting.push(draw);
  awaitNext();
  return () => {
    const at = waiting.indexOf(draw);
    if (at >= 0) waiting.splice(at, 1);
  };
}

/** Draw what waits at once: what is printed is not to miss any. */
export function drawAll(): void {
  for (const draw of waiting.splice(0)) draw();
}
