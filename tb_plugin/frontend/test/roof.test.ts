import assert from "node:assert/strict";
import { test } from "node:test";
import { decades, roofLine } from "../src/charts/roof";

test("axes of logarithms end at powers of ten around the values", () => {
  assert.deepEqual(decades([0.3, 45]), [0.1, 100]);
  assert.deepEqual(decades([2, 700]), [1, 1000]);
  assert.deepEqual(decades([1, 1000]), [0.1, 10_000]);
});

test("a roof climbs with the bandwidth to the ridge and is flat beyond it", () => {
  assert.deepEqual(roofLine(1000, 10, 1, 10_000), [
    [1, 10],
    [100, 1000],
    [10_000, 1000],
  ]);
  assert.deepEqual(roofLine(1000, 10, 200, 400), [
    [200, 1000],
    [400, 1000],
  ]);
  assert.deepEqual(roofLine(1000, 10, 1, 10), [
    [1, 10],
    [10, 100],
  ]);
});
