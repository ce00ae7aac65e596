import assert from "node:assert/strict";
import { test } from "node:test";
import { summed } from "../src/capture";

const said = (worker: string, state: "accepted" | "done" | "refused" | "failed", more: object = {}) => ({
  worker,
  state,
  detail: "",
  window: null,
  first_step: 7,
  start_ns: null,
  duration_ns: null,
  ...more,
});

test("a capture waits for all of its workers", () => {
  assert.deepEqual(summed("r", [], 2), { state: "waiting", text: "Waiting for the job …" });
  const half = summed("r", [said("a", "done"), said("b", "accepted")], 2);
  assert.deepEqual(half, { state: "waiting", text: "Capturing … (1 of 2 workers)" });
});

test("a capture that is done leads to the first window that has a place", () => {
  const told = summed("r", [said("a", "done"), said("b", "done", { start_ns: "5", duration_ns: 9 })], 2);
  assert.deepEqual(told, {
    state: "done",
    text: "Captured from step 7 (2 of 2 workers)",
    taken: { run: "r", worker: "b", start_ns: "5", duration_ns: 9 },
  });
});

test("what a worker refuses is told in its words", () => {
  const told = summed("r", [said("a", "done"), said("b", "refused", { detail: "Not now." })], 2);
  assert.deepEqual(told, { state: "problem", text: "Not now." });
});
