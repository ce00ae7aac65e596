import assert from "node:assert/strict";
import { test } from "node:test";
import { Resource } from "../src/resource";
import { Kept } from "../src/ui/kept";

const at = { run: "run", worker: "0" };

test("an answer is kept for the same question about the same state of the same worker", () => {
  const kept = new Kept();
  kept.set(at, 1, "bars", [3]);
  assert.deepEqual(kept.get({ ...at }, 1, "bars"), [3]);
  assert.equal(kept.get(at, 1, "statistics"), undefined);
  assert.equal(kept.get(at, 2, "bars"), undefined);
  assert.equal(kept.get({ ...at, worker: "1" }, 1, "bars"), undefined);
});

test("newer data and other workers leave nothing of what was kept, and the oldest of many goes", () => {
  const kept = new Kept();
  kept.set(at, 1, "bars", "old");
  kept.set(at, 2, "statistics", "new");
  assert.equal(kept.get(at, 1, "bars"), undefined);
  assert.equal(kept.get(at, 2, "bars"), undefined);
  for (let i = 0; i < 80; i += 1) kept.set(at, 2, `page ${i}`, i);
  assert.equal(kept.get(at, 2, "statistics"), undefined);
  assert.equal(kept.get(at, 2, "page 0"), 0);
});

test("an answer that is there takes the place of the one that is asked for", async () => {
  const resource = new Resource<string>("kept");
  assert.deepEqual(resource.now.value, { state: "ready", value: "kept", detail: "" });
  const loaded = resource.load(() => new Promise((resolve) => setTimeout(resolve, 0, "late")));
  resource.show("shown");
  await loaded;
  assert.equal(resource.now.value.value, "shown");
});
