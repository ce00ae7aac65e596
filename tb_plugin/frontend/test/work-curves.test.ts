import assert from "node:assert/strict";
import { test } from "node:test";
import type { LaneInfo, WorkAnswer } from "../src/api";
import { valueAt } from "../src/timeline/curves";
import { WorkCurves, type WorkRequest } from "../src/timeline/work-curves";

const whole = { t0: 0, t1: 1_000_000 };
const lane = { id: 7, of_work: true } as LaneInfo;

/** What the server says to a request: in each bin the start of it as a share of the whole. */
function answerTo({ t0, t1, bins, lanes }: WorkRequest): WorkAnswer {
  const mean = Array.from({ length: bins }, (_, i) => (t0 + (i * (t1 - t0)) / bins) / whole.t1);
  const one = { id: "busy", label: "Busy", unit: "ratio" as const, definition: "Share.", why: "" };
  return { origin_ns: "0", t0, t1, series: lanes.map((id) => ({ ...one, lane: id, mean })) };
}

function holding(view = whole): WorkCurves {
  const curves = new WorkCurves();
  const plan = curves.plan(view, 1000, [7], whole);
  assert.ok(plan);
  curves.accept(plan, answerTo(plan), whole);
  return curves;
}

test("bins are the pixels of the view, and what is held is not asked for again", () => {
  const curves = new WorkCurves();
  assert.equal(curves.plan(whole, 1000, [], whole), null);
  const plan = curves.plan(whole, 1000, [7], whole);
  assert.deepEqual(plan, { t0: 0, t1: 1_000_000, bins: 1000, lanes: [7], version: 0 });
  assert.equal(holding().plan(whole, 1000, [7], whole), null);
  assert.deepEqual(holding().plan(whole, 1000, [7, 8], whole)?.lanes, [7, 8]);
});

test("a closer look asks for bins as fine, with half a view on either side", () => {
  const curves = holding();
  const view = { t0: 400_000, t1: 500_000 };
  const plan = curves.plan(view, 1000, [7], whole);
  assert.deepEqual(plan, { t0: 350_000, t1: 550_000, bins: 2000, lanes: [7], version: 0 });
  assert.ok(plan);
  curves.accept(plan, answerTo(plan), whole);
  const moved = { t0: 420_000, t1: 520_000 };
  assert.equal(curves.plan(moved, 1000, [7], whole), null);
  assert.ok(curves.plan(whole, 1000, [7], whole)); // what is far finer than a pixel is no mean of it
  assert.equal(curves.ofLane(lane, whole)[0].series.t.length, 1000); // until that comes the overview is drawn
  assert.equal(curves.ofLane(lane, moved)[0].series.t.length, 2000);
});

test("no bin is finer than a nanosecond", () => {
  const plan = holding().plan({ t0: 100.5, t1: 140.5 }, 1000, [7], whole);
  assert.deepEqual(plan, { t0: 80, t1: 161, bins: 81, lanes: [7], version: 0 });
  const curves = holding({ t0: 100.5, t1: 140.5 });
  assert.equal(curves.plan({ t0: 101, t1: 141 }, 1000, [7], whole), null);
});

test("a grown trace is asked for again, and drawn as it was meanwhile", () => {
  const curves = holding();
  curves.touch();
  assert.ok(curves.plan(whole, 1000, [7], whole));
  assert.equal(curves.ofLane(lane, whole).length, 1);
});

test("an answer that was asked for before the trace grew does not count as a new one", () => {
  const curves = new WorkCurves();
  const plan = curves.plan(whole, 1000, [7], whole);
  assert.ok(plan);
  curves.touch();
  curves.accept(plan, answerTo(plan), whole);
  const next = curves.plan(whole, 1000, [7], whole);
  assert.ok(next);
  curves.accept(next, answerTo(next), whole);
  assert.equal(curves.plan(whole, 1000, [7], whole), null);
});

test("the value under the pointer is that of its bin, and the scale that of the view", () => {
  const curves = holding();
  const [curve] = curves.ofLane(lane, { t0: 0, t1: 500_000 });
  assert.equal(valueAt(curve.series, 250_100), 0.25);
  assert.equal(valueAt(curve.series, 250_900), 0.25);
  assert.equal(curve.max, 0.499);
});

test("a counter's curves have colours of their own, and a scale that reaches below 0", () => {
  const curves = new WorkCurves();
  const plan = { ...whole, bins: 4, lanes: [7], version: 0 };
  const one = { ...answerTo(plan).series[0], mean: [null, -4, 8, 2] };
  curves.accept(plan, { ...answerTo(plan), series: ["counter a", "counter b"].map((id) => ({ ...one, id })) }, whole);
  const [a, b] = curves.ofLane(lane, whole);
  assert.notEqual(a.color, b.color);
  assert.deepEqual([a.min, a.max], [-4, 8]);
  assert.deepEqual([curves.ofLane(lane, { t0: 500_000, t1: 1_000_000 })[0].min], [0]);
});

test("a curve that is not there says why and has no points", () => {
  const curves = new WorkCurves();
  const plan = { ...whole, bins: 2, lanes: [7], version: 0 };
  const answer = answerTo(plan);
  answer.series[0] = { ...answer.series[0], why: "no grid", mean: [] };
  curves.accept(plan, answer, whole);
  const [curve] = curves.ofLane(lane, whole);
  assert.deepEqual([curve.why, valueAt(curve.series, 5)], ["no grid", null]);
});
