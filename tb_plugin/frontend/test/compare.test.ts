import assert from "node:assert/strict";
import { test } from "node:test";
import { changeText, quantityText } from "../src/tabs/compare-requests";

test("a difference has a sign and the unit of its values", () => {
  assert.equal(changeText(2_000_000, "ns"), "+2.00 ms");
  assert.equal(changeText(-1024, "bytes"), "−1.00 KiB");
  assert.equal(changeText(46.65, "samples_per_s"), "+46.6 samples/s");
  assert.equal(changeText(0, "ns"), "0");
});

test("the difference of two percentages is in points, and what was not measured is a dash", () => {
  assert.equal(quantityText(0.555, "ratio"), "55.5 %");
  assert.equal(changeText(0.148, "ratio"), "+14.8 points");
  assert.equal(changeText(null, "ratio"), "—");
  assert.equal(quantityText(null, "ns"), "—");
});
