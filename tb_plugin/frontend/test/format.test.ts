import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ago,
  axisDuration,
  bytes,
  clock,
  count,
  duration,
  exact,
  milliseconds,
  percent,
  plural,
  quantity,
  ranges,
  rate,
} from "../src/format";

test("durations take the unit that suits them, three digits", () => {
  assert.equal(duration(0), "0 ns");
  assert.equal(duration(950), "950 ns");
  assert.equal(duration(1_000), "1.00 µs");
  assert.equal(duration(12_340), "12.3 µs");
  assert.equal(duration(4_560_000), "4.56 ms");
  assert.equal(duration(117_000_000), "117 ms");
  assert.equal(duration(1_234_000_000), "1.23 s");
  assert.equal(duration(119_900_000_000), "120 s");
  assert.equal(duration(125_000_000_000), "2 min 5 s");
  assert.equal(duration(3_720_000_000_000), "1 h 2 min");
});

test("a duration that rounds up to the next unit is told in it", () => {
  assert.equal(duration(999.7), "1.00 µs");
  assert.equal(duration(999_700), "1.00 ms");
  assert.equal(duration(999_400), "999 µs");
  assert.equal(duration(999_999_999), "1.00 s");
});

test("what was not measured is a dash, never 0", () => {
  for (const format of [duration, exact, bytes, rate, percent, count, milliseconds]) {
    assert.equal(format(null), "—");
    assert.equal(format(undefined), "—");
    assert.equal(format(NaN), "—");
  }
});

test("axis marks drop zeros that say nothing", () => {
  assert.equal(axisDuration(0), "0");
  assert.equal(axisDuration(20e6), "20 ms");
  assert.equal(axisDuration(2.5e9), "2.5 s");
  assert.equal(axisDuration(100e6), "100 ms");
});

test("sizes are binary, rates decimal", () => {
  assert.equal(bytes(1023), "1023 B");
  assert.equal(bytes(1 << 20), "1.00 MiB");
  assert.equal(bytes(42_297_786_368), "39.4 GiB");
  assert.equal(rate(24.4e9), "24.4 GB/s");
  assert.equal(quantity(0.5, "ratio"), "50.0 %");
  assert.equal(quantity(2048, "bytes"), "2.00 KiB");
  assert.equal(quantity(2000, "bytes_per_s"), "2.00 kB/s");
});

test("a small share is not 0 and a nearly full one not more than 100", () => {
  assert.equal(percent(0), "0 %");
  assert.equal(percent(0.0002), "< 0.1 %");
  assert.equal(percent(0.834), "83.4 %");
  assert.equal(percent(0.99999), "100 %");
});

test("exact values and fixed milliseconds", () => {
  assert.equal(exact(1_234_567), "1,234,567 ns");
  assert.equal(milliseconds(157_400_000), "157.4");
  assert.equal(milliseconds(2_350_000), "2.35");
  assert.equal(milliseconds(23_000), "0.023");
});

test("values of series by their unit", () => {
  assert.equal(quantity(0.5, "ratio"), "50.0 %");
  assert.equal(quantity(103.2, "per_s"), "103/s");
  assert.equal(quantity(2_480_000_000, "per_s"), "2.48 G/s");
  assert.equal(quantity(1.234, "number"), "1.23");
  assert.equal(quantity(null, "per_s"), "—");
});

test("counts, plurals, ages, ranges", () => {
  assert.equal(count(2310), "2,310");
  assert.equal(plural(1, "step"), "1 step");
  assert.equal(plural(2310, "step"), "2,310 steps");
  assert.equal(ago(400), "just now");
  assert.equal(ago(4_000), "4 s ago");
  assert.equal(ago(180_000), "3 min ago");
  assert.equal(ago(-5_000), "just now");
  assert.equal(ranges([10, 11, 12, 13, 14]), "10–14");
  assert.equal(ranges([5, 7, 8]), "5, 7–8");
  assert.equal(ranges([1, 3, 5, 7, 9]), "1, 3, 5, …");
});

test("absolute time keeps its milliseconds", () => {
  assert.match(clock(1_751_410_836_123_456_789n), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.123$/);
});
