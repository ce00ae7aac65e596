import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunInfo } from "../src/api";
import { chosen } from "../src/chosen";

const run = (id: string, ...workers: string[]) =>
  ({ id, workers: workers.map((worker) => ({ id: worker })) }) as RunInfo;
const ids = (found: ReturnType<typeof chosen>) => [found.run?.id ?? null, found.worker?.id ?? null];

test("what the address names, else the first run that has workers, and its first worker", () => {
  const all = [run("empty"), run("a", "0", "1"), run("b", "0")];
  assert.deepEqual(ids(chosen(all, null, null)), ["a", "0"]);
  assert.deepEqual(ids(chosen(all, "b", null)), ["b", "0"]);
  assert.deepEqual(ids(chosen(all, "a", "1")), ["a", "1"]);
  assert.deepEqual(ids(chosen(all, "a", "7")), ["a", null]);
  assert.deepEqual(ids(chosen(all, "gone", null)), [null, null]);
  assert.deepEqual(ids(chosen([run("empty")], null, null)), ["empty", null]);
});
