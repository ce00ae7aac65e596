import assert from "node:assert/strict";
import { test } from "node:test";
import { Pace } from "../src/pace";

test("the first is done at once, of those that follow without rest the last", async (t) => {
  t.mock.method(performance, "now", () => 1000); // however slow the machine is
  const pace = new Pace(5);
  const done: string[] = [];
  await new Promise<void>((resolve) => {
    pace.run(() => done.push("a"));
    assert.deepEqual(done, ["a"]);
    pace.run(() => done.push("b"));
    pace.run(() => (done.push("c"), resolve()));
    assert.deepEqual(done, ["a"]);
  });
  assert.deepEqual(done, ["a", "c"]);
  pace.run(() => done.push("d"));
  pace.stop();
  assert.deepEqual(done, ["a", "c"]);
});
