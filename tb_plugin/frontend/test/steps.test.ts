import assert from "node:assert/strict";
import { test } from "node:test";
import { cutOf, niceCeiling, partsOf } from "../src/charts/scale";
import { barAt, clampBars, pixelOf, positionAt } from "../src/charts/step-bars";
import { deepRuns, nearestStep, stepAxis } from "../src/charts/step-time";
import { ACTIVITIES } from "../src/kinds";
import type { BarsAnswer } from "../src/dashboard/requests";
import { sharesOf, stepName } from "../src/steps";

test("parts of a sum: what was not measured is no part, and neither is 0", () => {
  assert.deepEqual(sharesOf({ kernel: 140, communication: 0, memcpy: null, cpu: 60 }, ACTIVITIES), {
    total_ns: 200,
    shares: [
      { key: "kernel", ns: 140, ratio: 0.7 },
      { key: "cpu", ns: 60, ratio: 0.3 },
    ],
  });
  assert.deepEqual(sharesOf(null, ACTIVITIES), { total_ns: 0, shares: [] });
});

test("a step without a number is called by its marker, else by its place", () => {
  const steps = { id: [2310], label: ["step 2310"] };
  assert.equal(stepName(steps, 0), "2310");
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

test("a pixel of the plot, the position under it, and the bar that holds it", () => {
  const view = { from: 20, to: 30 };
  const width = 64 + 10 + 100; // a plot of 100 pixels
  assert.equal(positionAt(64 + 55, width, view, 1000), 25.5);
  assert.equal(pixelOf(25.5, width, view), 64 + 55);
  assert.equal(positionAt(10, width, view, 1000), null);
  assert.equal(positionAt(64 + 55, width, view, 25), null);
  const bars = { count: 1000, begin: 16, width: 4, first: [16, 20, 24, 28] } as unknown as BarsAnswer;
  assert.equal(barAt(bars, 25.5), 2);
  assert.equal(barAt(bars, 15), null);
  assert.equal(barAt(bars, 32), null);
  assert.equal(barAt(bars, null), null);
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

test("the marks of an axis are round", () => {
  const marks = [100, 1.5e9, 2e6, 250, 3e6, 40, 5e3, 6e7, 8e8].map((top) => top / partsOf(top));
  assert.deepEqual(marks, [20, 5e8, 5e5, 50, 1e6, 10, 1e3, 2e7, 2e8]);
});

test("one very long step is cut off, a few long ones are not", () => {
  const usual = Array.from({ length: 99 }, () => 100);
  assert.deepEqual(cutOf([7500, ...usual]), { top: 200, above: 1, longest: 7500 });
  assert.equal(cutOf([390, ...usual]), null);
  assert.equal(cutOf([7500, 100, 100]), null);
  assert.equal(cutOf([...usual, null]), null);
});
