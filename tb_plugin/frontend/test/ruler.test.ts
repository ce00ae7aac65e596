import assert from "node:assert/strict";
import { test } from "node:test";
import { niceStep, ruler, tickLabel } from "../src/timeline/ruler";

test("steps are 1, 2 or 5 times a power of ten, and a clock's above 20 s", () => {
  assert.equal(niceStep(0.3), 1);
  assert.equal(niceStep(3), 5);
  assert.equal(niceStep(1100), 2000);
  assert.equal(niceStep(6e6), 1e7);
  assert.equal(niceStep(21e9), 30e9);
  assert.equal(niceStep(61e9), 120e9);
});

test("labels have the decimals that their step needs", () => {
  assert.equal(tickLabel(5e6, 1e6), "5 ms");
  assert.equal(tickLabel(5.5e6, 5e5), "5.5 ms");
  assert.equal(tickLabel(1.25e9, 1e7), "1.25 s");
  assert.equal(tickLabel(400, 100), "400 ns");
  assert.equal(tickLabel(3725e9, 60e9), "1:02:05");
  assert.equal(tickLabel(130.2e9, 0.1e9), "2:10.2");
  assert.equal(tickLabel(3659.96e9, 0.02e9), "1:00:59.96");
  assert.equal(tickLabel(179.999e9, 0.1e9), "3:00.0");
});

test("marks lie on multiples of the step from the start of the trace", () => {
  const { base, step, ticks } = ruler({ t0: 1_000, t1: 10_001_000 }, 1000, 1_000);
  assert.equal(base, null);
  assert.equal(step, 2_000_000);
  assert.deepEqual(
    ticks.map((tick) => tick.t),
    [1_000, 2_001_000, 4_001_000, 6_001_000, 8_001_000, 10_001_000],
  );
  assert.deepEqual(
    ticks.map((tick) => tick.label),
    ["0", "2 ms", "4 ms", "6 ms", "8 ms", "10 ms"],
  );
});

test("deep in a long trace labels are offsets from a mark that is told in full", () => {
  const at = 12_345_678_000;
  const { base, ticks } = ruler({ t0: at, t1: at + 1000 }, 1000, 0);
  assert.ok(base && base.t <= at);
  assert.match(base.label, /^12\.34567\d* s$/);
  for (const tick of ticks) assert.match(tick.label, /^\+/);
  assert.equal(new Set(ticks.map((tick) => tick.label)).size, ticks.length);
});
