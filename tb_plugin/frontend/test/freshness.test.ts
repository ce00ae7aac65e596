import assert from "node:assert/strict";
import { test } from "node:test";
import type { WorkerState } from "../src/api";
import { freshnessText, ofRun } from "../src/freshness";

const NOW = Date.UTC(2026, 2, 7, 12);
const recording = (state: WorkerState) => ({ source: "recording" as const, state });
const text = (state: WorkerState) => freshnessText(recording(state), state === "running", NOW - 180_000, NOW);

test("how a recording stands", () => {
  assert.equal(text("running"), "live, last data 3 min ago");
  assert.equal(text("finished"), "finished 3 min ago");
  assert.equal(text("failed"), "failed 3 min ago");
  assert.equal(text("killed"), "killed, last data 3 min ago");
  assert.equal(text("hung"), "hangs, last data 3 min ago");
  assert.equal(text("lost"), "no end told, last data 3 min ago");
});

test("files and imports have no state", () => {
  assert.equal(freshnessText({ source: "file", state: null }, false, NOW, NOW), "file of 2026-03-07");
  assert.equal(freshnessText({ source: "import", state: null }, false, NOW - 180_000, NOW), "imported 3 min ago");
  assert.equal(freshnessText(recording("killed"), false, null, NOW), "killed");
});

test("a worker that did not end well stands for its run", () => {
  const workers = [recording("finished"), recording("killed"), recording("failed")];
  assert.equal(ofRun(workers)?.state, "killed");
  assert.equal(ofRun([recording("running"), recording("finished")])?.state, "finished");
  assert.equal(ofRun([]), null);
});
