import assert from "node:assert/strict";
import { test } from "node:test";
import type { StepsAnswer } from "../src/api";
import { cutOf, niceCeiling } from "../src/charts/scale";
import { clampBars, makeBars, type BarData } from "../src/charts/step-bars";
import { deepRuns, nearestStep, stepAxis } from "../src/charts/step-time";
import { ACTIVITIES } from "../src/kinds";
import { slowest } from "../src/tabs/step-parts";
import { emptySteps, measured, sharesOf, stepName, withPage } from "../src/steps";

function page(offset: number, ids: number[], count: number, deep: (id: number) => boolean = () => false): StepsAnswer {
  return {
    origin_ns: "1000",
    count,
    offset,
    id: ids,
    label: ids.map((id) => `step ${id}`),
    start: ids.map((id) => id * 100),
    host: ids.map(() => 90),
    duration: ids.map(() => 100),
    complete: ids.map(() => true),
    inferred: ids.map(() => false),
    activity: { kernel: ids.map((id) => (deep(id) ? 70 : null)), cpu: ids.map((id) => (deep(id) ? 30 : null)) },
    phase: { forward: ids.map(() => 60), other: ids.map(() => 30) },
  };
}

test("pages join at their offsets, and a page that comes again replaces its part", () => {
  let steps = withPage(emptySteps("0"), page(0, [0, 1, 2], 5));
  steps = withPage(steps, page(3, [3, 4], 5));
  assert.deepEqual(steps.id, [0, 1, 2, 3, 4]);
  assert.equal(steps.origin, "1000");
  steps = withPage(
    steps,
    page(3, [3, 4, 5], 6, (id) => id === 4),
  );
  assert.deepEqual(steps.id, [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(steps.activity.kernel, [null, null, null, null, 70, null]);
  assert.deepEqual(steps.phase.backward, [null, null, null, null, null, null]);
});

test("parts of a sum: what was not measured is no part, and neither is 0", () => {
  assert.deepEqual(sharesOf({ kernel: 140, communication: 0, memcpy: null, cpu: 60 }, ACTIVITIES), {
    total_ns: 200,
    shares: [
      { key: "kernel", ns: 140, ratio: 0.7 },
      { key: "cpu", ns: 60, ratio: 0.3 },
    ],
  });
  assert.deepEqual(sharesOf(null, ACTIVITIES), { total_ns: 0, shares: [] });
  const steps = withPage(
    emptySteps("0"),
    page(0, [0, 1, 2, 3], 4, (id) => id < 2),
  );
  assert.deepEqual(measured(steps.activity, 4), [0, 1]);
});

test("a step without a number is called by its marker, else by its place", () => {
  const steps = withPage(emptySteps("0"), page(0, [2310], 1));
  assert.equal(stepName(steps, 0), "2,310");
  assert.equal(stepName({ ...steps, id: [null] }, 0), "step 2310");
  assert.equal(stepName({ ...steps, id: [null], label: [null] }, 0), "#1");
  assert.equal(stepName({ id: [null], label: [null], index: [40] }, 0), "#41");
});

test("the x axis has the steps' numbers where they increase, else their places among all steps", () => {
  assert.deepEqual(stepAxis([5, 6, 9], [0, 1, 2]), [5, 6, 9]);
  assert.deepEqual(stepAxis([5, 5, 6], [0, 40, 80]), [0, 40, 80]);
  assert.deepEqual(stepAxis([5, null, 6], [0, 40, 80]), [0, 40, 80]);
  assert.equal(nearestStep([5, 6, 9], 7.6), 2);
  assert.equal(nearestStep([], 3), -1);
});

test("steps in depth are marked by the values of the x axis", () => {
  const overview = {
    index: [0, 20, 22, 31, 39],
    deep: [
      [20, 22],
      [31, 31],
    ] as [number, number][],
  };
  assert.deepEqual(deepRuns(overview, [100, 120, 122, 131, 139]), [
    [120, 122],
    [131, 131],
  ]);
});

function bars(values: number[], share = false): BarData {
  return {
    rows: values.map((_, i) => i),
    name: String,
    number: (row) => row,
    parts: [{ key: "a", color: "#000000", values: values.map((v) => v / 2) }],
    whole: values,
    share,
  };
}

test("one bar a step where there is room, else the mean of several with their highest", () => {
  const data = bars([10, 20, 30, 40]);
  const wide = makeBars(data, { from: 0, to: 4 }, 400);
  assert.deepEqual(
    wide.map((bar) => [bar.from, bar.to, bar.parts[0], bar.rest, bar.most]),
    [
      [0, 1, 5, 5, 10],
      [1, 2, 10, 10, 20],
      [2, 3, 15, 15, 30],
      [3, 4, 20, 20, 40],
    ],
  );
  const narrow = makeBars(data, { from: 0, to: 4 }, 6);
  assert.deepEqual(
    narrow.map((bar) => [bar.from, bar.to, bar.parts[0], bar.most]),
    [
      [0, 2, 7.5, 20],
      [2, 4, 17.5, 40],
    ],
  );
});

test("as shares every bar is 1 high; an unmeasured step is all rest", () => {
  const data = bars([10, 40], true);
  data.parts[0].values[1] = null;
  const made = makeBars(data, { from: 0, to: 2 }, 100);
  assert.deepEqual(
    made.map((bar) => [bar.parts[0], bar.rest, bar.most]),
    [
      [0.5, 0.5, 1],
      [0, 1, 1],
    ],
  );
});

test("panning does not change what a bar averages", () => {
  const data = bars(Array.from({ length: 1000 }, (_, i) => i));
  const a = makeBars(data, { from: 0, to: 500 }, 300);
  const b = makeBars(data, { from: 7.3, to: 507.3 }, 300);
  assert.ok(b.every((bar) => a.some((other) => other.from === bar.from && other.to === bar.to) || bar.from >= 500));
});

test("the view of the bars stays inside the steps", () => {
  assert.deepEqual(clampBars({ from: -5, to: 5 }, 100), { from: 0, to: 10 });
  assert.deepEqual(clampBars({ from: 95, to: 105 }, 100), { from: 90, to: 100 });
  assert.deepEqual(clampBars({ from: 3, to: 3.5 }, 100), { from: 3, to: 8 });
  assert.deepEqual(clampBars({ from: 0, to: 9 }, 3), { from: 0, to: 3 });
});

test("axis ends are round and not below the highest bar", () => {
  assert.equal(niceCeiling(157), 200);
  assert.equal(niceCeiling(101), 150);
  assert.equal(niceCeiling(0), 1);
});

test("one very long step is cut off, a few long ones are not", () => {
  const usual = Array.from({ length: 99 }, () => 100);
  assert.deepEqual(cutOf([7500, ...usual]), { top: 200, above: 1, longest: 7500 });
  assert.equal(cutOf([390, ...usual]), null);
  assert.equal(cutOf([7500, 100, 100]), null);
  assert.equal(cutOf([...usual, null]), null);
});

test("the slowest step and what it takes more of", () => {
  const whole = [100, 110, 300, 105, 900];
  const parts = [
    { label: "Kernel", values: [80, 85, 90, 82, 500] },
    { label: "CPU", values: [20, 25, 210, 23, 400] },
  ];
  // The last one is cut: how long it would have been is not known.
  const complete = [true, true, true, true, false];
  // Medians by nearest rank: 105 of all, 23 of CPU.
  assert.deepEqual(slowest([0, 1, 2, 3, 4], complete, whole, parts), {
    row: 2,
    ns: 300,
    median: 105,
    part: { label: "CPU", more: 210 - 23 },
  });
  assert.equal(slowest([0, 1], complete, whole, parts), null);
  const even = [{ label: "Kernel", values: [50, 55, 70, 52, 0] }];
  assert.equal(slowest([0, 1, 2, 3], complete, whole, even)?.part, null);
});
