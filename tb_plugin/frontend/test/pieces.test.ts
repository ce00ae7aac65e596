import assert from "node:assert/strict";
import { test } from "node:test";
import {
  absoluteMs,
  withSteps,
  type OverviewAnswer,
  type Series,
  type SummaryAnswer,
  type TreeAnswer,
} from "../src/api";
import { routeBase } from "../src/address";
import { CurveStore, valueAt } from "../src/timeline/curves";
import { eachRun } from "../src/timeline/draw-curves";
import { fit, isolated } from "../src/timeline/text";
import { sortRows } from "../src/ui/table";
import { filterChoices } from "../src/ui/picker";
import { byteMark, byteStep } from "../src/charts/memory";
import { coverageText, deviceText, versionText } from "../src/tabs/facts";
import { refusals } from "../src/tabs/notes";

test("routes lie beside the module, under any prefix or experiment", () => {
  assert.equal(routeBase("http://h/data/plugin/stepscope/index.js"), "http://h/data/plugin/stepscope/");
  assert.equal(
    routeBase("http://h/x/experiment/1/data/plugin/stepscope/static/index.js"),
    "http://h/x/experiment/1/data/plugin/stepscope/",
  );
  assert.equal(routeBase("http://h/static/index.js"), "http://h/static/");
});

test("a time may be absolute or relative to the origin", () => {
  assert.equal(absoluteMs("1751410836000000000", null), 1_751_410_836_000);
  assert.equal(absoluteMs(2_000_000, "1751410836000000000"), 1_751_410_836_002);
  assert.equal(absoluteMs(null, "1"), null);
});

test("only names that could turn what stands beside them are isolated", () => {
  assert.equal(isolated("aten::mm <b>"), "aten::mm <b>");
  assert.equal(isolated("a\u202eb"), "\u2068a\u202eb\u2069");
  assert.equal(isolated("שלב"), "\u2068שלב\u2069");
});

test("steps that were held already go before those that came", () => {
  const tree = (offset: number, numbers: number[]): TreeAnswer => {
    const start = numbers.map((n) => 10 * n);
    return { origin_ns: "0", t0: 0, t1: 1, lanes: [], steps: { offset, id: numbers, start, end: start } };
  };
  const held = tree(0, [0, 1]);
  assert.deepEqual(withSteps(held, tree(2, [2])).steps, tree(0, [0, 1, 2]).steps);
  assert.equal(withSteps(held, tree(2, [])).steps, held.steps);
  assert.deepEqual(withSteps(held, tree(0, [5])).steps.id, [5]);
});

test("rows sort by value, those without one come last both ways", () => {
  const values = [3, null, 1, 2, null];
  const column = { key: "v", label: "v", numeric: true, value: (i: number) => values[i] };
  assert.deepEqual(sortRows(5, column, false), [2, 3, 0, 1, 4]);
  assert.deepEqual(sortRows(5, column, true), [0, 3, 2, 1, 4]);
  assert.deepEqual(sortRows(3, undefined, true), [0, 1, 2]);
});

test("a search finds every word anywhere", () => {
  const choices = [
    { id: "a", label: "sweep/lr-0.1", detail: "node-7" },
    { id: "b", label: "sweep/lr-0.2" },
  ];
  assert.deepEqual(
    filterChoices(choices, "0.1 NODE").map((c) => c.id),
    ["a"],
  );
  assert.equal(filterChoices(choices, "").length, 2);
});

test("texts are cut to their room", () => {
  const narrow = (text: string) => [...text].reduce((sum, letter) => sum + (letter === "W" ? 20 : 10), 0);
  assert.equal(fit("forward", 100, narrow), "forward");
  assert.equal(fit("abcdefghij", 66, narrow), "abcde…");
  assert.equal(fit("WWWabcdefghij", 60, narrow), "");
  assert.equal(fit("WWWabcdefghij", 70, narrow), "WWW…");
  assert.equal(fit("abcdefghij", 30, narrow), "");
});

test("runs of measured values, and the value nearest to a time", () => {
  const runs: number[][] = [];
  eachRun([null, 1, 2, null, 3], (from, to) => runs.push([from, to]));
  assert.deepEqual(runs, [
    [1, 3],
    [4, 5],
  ]);
  const series = { t: [0, 10, 20], mean: [1, null, 3] } as unknown as Series;
  assert.equal(valueAt(series, 4), 1);
  assert.equal(valueAt(series, 11), null);
  assert.equal(valueAt(series, 99), 3);
});

test("curves: first the whole trace, then the detail of a close view", () => {
  const store = new CurveStore();
  const whole = { t0: 0, t1: 1e9 };
  const series: Series = {
    id: "cpu",
    label: "CPU",
    group: "CPU",
    unit: "ratio",
    t: [0, 5e8],
    mean: [0.2, 0.4],
    min: [0.1, 0.3],
    max: [0.5, 0.9],
  };
  const first = store.plan(whole, whole)!;
  assert.equal(first.purpose, "overview");
  store.accept(first, { origin_ns: "0", interval_ms: 500, series: [series] });
  assert.equal(store.plan(whole, whole), null);
  const close = { t0: 1e8, t1: 2e8 };
  const second = store.plan(close, whole)!;
  assert.deepEqual([second.purpose, second.range], ["detail", { t0: 0, t1: 3e8 }]);
  store.accept(second, { origin_ns: "0", interval_ms: 500, series: [{ ...series, max: [0.5, 0.5] }] });
  assert.equal(store.plan(close, whole), null);
  const lane = {
    id: 1,
    parent: null,
    type: "counter" as const,
    name: "CPU",
    rows: 0,
    events: 0,
    busy_ns: null,
    series: ["cpu", "gone"],
  };
  assert.deepEqual(
    store.ofLane(lane, close).map((c) => [c.series.id, c.max]),
    [["cpu", 0.9]],
  );
});

test("equal devices are told once; versions and refusals in words", () => {
  const device = { id: 0, name: "A100", sm_count: 108, memory_bytes: 1 << 30 };
  assert.equal(
    deviceText([device, { ...device, id: 1 }, { ...device, id: 2, name: null }]),
    "2 × A100 1.00 GiB, GPU 2 1.00 GiB",
  );
  assert.equal(versionText({ torch: "2.13.0", extra: { a: 1 }, python: "3.11" }), "torch 2.13.0, python 3.11");
  assert.deepEqual(refusals({ with_stack: "not on this torch" }), ["with_stack: not on this torch"]);
  assert.deepEqual(refusals(["no NVML"]), ["no NVML"]);
  assert.deepEqual(refusals(null), []);
});

test("how much was seen in depth, by the numbers of the steps", () => {
  const answer = (steps: number, deep: number, waiting = 0) =>
    ({ coverage: { steps, deep_steps: deep, unconverted_windows: waiting }, worker: {} }) as unknown as SummaryAnswer;
  const overview = {
    index: [0, 10, 14, 40, 2309],
    id: [1, 11, 15, 41, 2310],
    label: [],
    deep: [
      [10, 14],
      [40, 40],
    ],
  };
  assert.equal(
    coverageText(answer(2310, 6), overview as unknown as OverviewAnswer),
    "steps 11–15, 41 of 2,310 in depth; always-on data for all",
  );
  assert.equal(coverageText(answer(2310, 6), null), "6 steps of 2,310 in depth; always-on data for all");
  assert.equal(coverageText(answer(6, 6), null), "all 6 steps in depth");
  assert.equal(coverageText(answer(0, 0), null), "no steps seen");
  assert.equal(
    coverageText(answer(20, 0, 2), null),
    "20 steps, none in depth yet; always-on data for all; 2 deep windows not converted yet",
  );
});

test("axes of memory have round binary steps", () => {
  assert.equal(byteStep(2 * 2 ** 30), 512 * 2 ** 20);
  assert.equal(byteStep(700 * 2 ** 20), 256 * 2 ** 20);
  assert.deepEqual(
    [0.5, 1, 1.5].map((gib) => byteMark(gib * 2 ** 30)),
    ["512 MiB", "1 GiB", "1.5 GiB"],
  );
  assert.equal(byteMark(100 * 2 ** 20), "100 MiB");
  assert.equal(byteStep(16), 5);
});
