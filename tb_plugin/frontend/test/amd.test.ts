import assert from "node:assert/strict";
import { test } from "node:test";
import { worded } from "../src/amd";
import type { WorkerSummary } from "../src/api";

test("parts of a GPU are called as its maker calls them", () => {
  const of = (name: string | null) => ({ devices: [{ id: 0, name }] }) as unknown as WorkerSummary;
  assert.equal(worded("SM efficiency, estimated", of("AMD Instinct MI300X VF")), "CU efficiency, estimated");
  assert.equal(
    worded("on Tensor Cores of 8 multiprocessors", of("AMD Radeon Graphics")),
    "on Matrix Cores of 8 compute units",
  );
  assert.equal(worded("Tensor Core kernels", of("NVIDIA H100")), "Tensor Core kernels");
  assert.equal(worded("Tensor Core kernels", of(null)), "Tensor Core kernels");
});
