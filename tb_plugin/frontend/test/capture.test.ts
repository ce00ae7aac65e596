import assert from "node:assert/strict";
import { test } from "node:test";
import type { WorkerState } from "../src/asking";
import { summed } from "../src/capture";

const OF = [
  { id: "a", label: "Rank 0" },
  { id: "b", label: "Rank 1" },
];
const BOTH = ["a", "b"];
const PLACE = { start_ns: "5", duration_ns: 9 };

const said = (worker: string, state: WorkerState["state"], more: object = {}): WorkerState => ({
  worker,
  state,
  detail: "",
  window: null,
  first_step: 7,
  steps: 3,
  start_ns: null,
  duration_ns: null,
  ...more,
});

test("a capture waits for all of its workers", () => {
  assert.deepEqual(summed("r", [], BOTH, OF, 3, false), {
    state: "waiting",
    text: "Waiting for the job …",
    last: null,
  });
  const half = summed("r", [said("a", "done"), said("b", "accepted")], BOTH, OF, 3, false);
  assert.deepEqual(half, { state: "waiting", text: "Capturing … (1 of 2 workers)", last: 9 });
});

test("a capture that is done leads to the first window that has a place", () => {
  assert.deepEqual(summed("r", [said("a", "done"), said("b", "done", PLACE)], BOTH, OF, 3, false), {
    state: "done",
    text: "Captured steps 7 to 9 in 2 workers",
    lines: [],
    taken: { run: "r", worker: "b", ...PLACE },
  });
});

test("a worker that came too late is told with the steps of each", () => {
  const late = said("b", "done", { first_step: 20, detail: "The request came too late for step 7." });
  const told = summed("r", [said("a", "done"), late], BOTH, OF, 3, false);
  assert.deepEqual(told, {
    state: "done",
    text: "Captured, but not the same steps in all workers",
    lines: ["Rank 0: steps 7 to 9", "Rank 1: steps 20 to 22. The request came too late for step 7."],
    taken: null,
  });
});

test("what a worker refuses is told in its words, beside the window of the other", () => {
  const refused = said("b", "refused", { detail: "Not now." });
  const told = summed("r", [said("a", "done", PLACE), refused], BOTH, OF, 3, false);
  assert.deepEqual(told, {
    state: "problem",
    text: "No window in 1 of 2 workers.",
    lines: ["Rank 0: steps 7 to 9", "Rank 1: Not now."],
    taken: { run: "r", worker: "a", ...PLACE },
  });
  const alone = summed("r", [refused], ["b"], OF.slice(1), 3, false);
  assert.deepEqual(alone, { state: "problem", text: "Not now.", lines: [], taken: null });
});

test("a worker that is not asked any more, or does not answer, is told", () => {
  const gone = summed("r", [said("a", "done")], ["a"], OF, 3, false);
  assert.deepEqual(gone.state === "problem" && gone.lines, [
    "Rank 0: steps 7 to 9",
    "Rank 1: not asked, since it does not run any more",
  ]);
  const silent = summed("r", [said("a", "done"), said("b", "accepted")], BOTH, OF, 3, true);
  assert.deepEqual(silent.state === "problem" && silent.lines[1], "Rank 1: no window in three minutes");
});

test("of many workers those of which the same is told share a line", () => {
  const many = Array.from({ length: 100 }, (_, i) => ({ id: `w${i}`, label: `Rank ${i}` }));
  const all = many.map(({ id }, i) => said(id, "done", { first_step: i < 99 ? 7 : 8 }));
  const told = summed(
    "r",
    all,
    many.map(({ id }) => id),
    many,
    3,
    false,
  );
  assert.deepEqual(told.state === "done" && told.lines, [
    "Rank 0, Rank 1, Rank 2, Rank 3, Rank 4, Rank 5, Rank 6, Rank 7 and 91 more: steps 7 to 9",
    "Rank 99: steps 8 to 10",
  ]);
});
