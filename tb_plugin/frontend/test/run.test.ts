import assert from "node:assert/strict";
import { test } from "node:test";
import { cellValue, medians, rowHeight, shadeIndex, shades, shadingOf } from "../src/charts/rank-map";
import { bySlowness, measureLabel, rankName, signed, stretchName, stretchTick, type RunSteps } from "../src/run";
import { filterChoices } from "../src/ui/picker";

const steps = { aligned_by: "id", first_id: [0, 1000], last_id: [0, 1001] } as RunSteps;

test("steps by their number, or counted from 1 where they have none", () => {
  assert.equal(stretchName(steps, 0), "step 0");
  assert.equal(stretchName(steps, 1), "steps 1000 to 1001");
  assert.equal(stretchTick({ ...steps, aligned_by: "position" }, 1), "1001");
});

test("measures and workers in words", () => {
  assert.equal(measureLabel("own"), "Step without exposed communication");
  assert.equal(measureLabel("phase.input_wait"), "Input wait");
  assert.equal(rankName({ rank: [3, null], worker: ["3-a-1", "<b>x</b>"] }, 1), "<b>x</b>");
});

test("a cell against the median, which one slow worker does not move", () => {
  const cells = [
    [10, null],
    [10, 4],
    [90, null],
  ];
  assert.deepEqual(medians(cells, 2), [10, 4]);
  assert.equal(cellValue(90, 10, "share"), 8);
  assert.equal(cellValue(90, 10, "absolute"), 90);
  assert.equal(cellValue(null, 10, "share"), null);
  assert.equal(cellValue(5, 0, "share"), null);
});

test("small differences stay faint, large ones reach the end of the colours", () => {
  const shading = shadingOf([[100], [101], [99]], [100], "share");
  assert.deepEqual([shading.low, shading.high], [-0.1, 0.1]);
  const middle = shadeIndex(0, shading);
  assert.ok(Math.abs(shadeIndex(0.01, shading) - middle) <= 2);
  assert.equal(shadeIndex(3, shading), shades("light", "share").length - 1);
});

test("hundreds of ranks take a pixel each", () => {
  assert.equal(rowHeight(8, 400), 18);
  assert.equal(rowHeight(100, 400), 4);
  assert.equal(rowHeight(4096, 400), 1);
});

test("the slowest worker first, those that were not measured last", () => {
  const ranks = { worker: ["a", "b", "c"], delta_ns: [-1, null, 5] } as never;
  assert.deepEqual(bySlowness({ ranks }), [2, 0, 1]);
  assert.equal(signed(-1500), "−1.50 µs");
  assert.equal(signed(0), "0 ns");
});

test("a rank that is searched for comes before others whose text holds its number", () => {
  const choices = [17, 70, 7].map((rank) => ({ id: `${rank}-node-4007`, label: `Rank ${rank}` }));
  assert.deepEqual(
    filterChoices(choices, "7").map((choice) => choice.label),
    ["Rank 7", "Rank 17", "Rank 70"],
  );
  assert.equal(filterChoices(choices, "rank 17").length, 1);
  assert.equal(filterChoices(choices, "").length, 3);
});
