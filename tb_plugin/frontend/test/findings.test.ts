// Evidence of findings: labels and units by name, gains, places, and what the header tells.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Finding, WorkerSummary } from "../src/api";
import { evidenceRow, gainText, placeLabel } from "../src/findings";
import { flat, precisionText } from "../src/tabs/facts";

test("evidence is told in the unit that its name ends with", () => {
  assert.deepEqual(evidenceRow("lost_ns_per_step", 69_298_500), ["Lost a step", "69.3 ms"]);
  assert.deepEqual(evidenceRow("exposed_copies_ns", 95_744_000), ["Exposed copies", "95.7 ms"]);
  assert.deepEqual(evidenceRow("growth_bytes_per_hour", 2 ** 30), ["Growth an hour", "1.00 GiB"]);
  assert.deepEqual(evidenceRow("busbw_bytes_per_s", 2.5e9), ["Bus bandwidth", "2.50 GB/s"]);
  assert.deepEqual(evidenceRow("iowait_mean_ratio", 0.5), ["I/O wait mean", "50.0 %"]);
  assert.deepEqual(evidenceRow("host_cpu_p50_ratio", 0.5), ["Host CPU p50", "50.0 %"]);
  assert.deepEqual(evidenceRow("overlap_ratio", 0.149), ["Overlap", "14.9 %"]);
  assert.deepEqual(evidenceRow("kernel_runs", 8868), ["Kernel runs", "8,868"]);
  assert.deepEqual(evidenceRow("distance", 0.51234), ["Distance", "0.512"]);
  assert.deepEqual(evidenceRow("foreach", false), ["Foreach", "no"]);
  assert.deepEqual(evidenceRow("largest_kernel", "<b>k</b>"), ["Largest kernel", "<b>k</b>"]);
  assert.deepEqual(evidenceRow("bytes_per_s", null), ["Bytes per s", "—"]);
});

test("a gain says what it is a share of only where a step is known", () => {
  const of = (gain: Finding["gain"]) => gainText({ gain } as Finding);
  assert.equal(of({ ns_per_step: 69_298_500, ratio: 0.39, formula: "" }), "up to 39.0 %, 69.3 ms a step");
  assert.equal(of({ ns_per_step: null, ratio: 0.86, formula: "" }), "up to 86.0 %");
  assert.equal(of(null), null);
});

test("a step is not called a step twice", () => {
  const place = { start_ns: 0, duration_ns: 1 };
  assert.equal(placeLabel({ what: "step", name: "ProfilerStep#7", ...place }), "Show ProfilerStep#7");
  assert.equal(placeLabel({ what: "step", name: "12", ...place }), "Show step 12");
  assert.equal(placeLabel({ what: "kernel", name: "step_kernel", ...place }), "Show kernel step_kernel");
});

test("metadata of a run is told flat", () => {
  assert.deepEqual(flat({ lr: 0.1, model: { name: "bert", layers: [1, 2] }, none: null }), [
    ["lr", "0.1"],
    ["model.name", "bert"],
    ["model.layers", "[1,2]"],
    ["none", "null"],
  ]);
  assert.deepEqual(flat(null), []);
});

test("the precisions of most kernels, the largest share first", () => {
  const precision_ns = { fp64: 0, fp32: 170, tf32: 10, bf16: 770, other: 50 };
  assert.equal(precisionText({ precision_ns } as unknown as WorkerSummary), "BF16 77 %, FP32 17 %");
  assert.equal(precisionText({ precision_ns: null } as WorkerSummary), "");
});
