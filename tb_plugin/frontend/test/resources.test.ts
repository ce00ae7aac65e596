import assert from "node:assert/strict";
import { test } from "node:test";
import { sampledText } from "../src/time/sampled";

const text = (interval_ms: number | null, latest_interval_ms: number | null, live = true) =>
  sampledText({ interval_ms, latest_interval_ms }, live);

test("the interval is told as the samples show it, also where it was changed", () => {
  assert.equal(text(null, null), "");
  assert.equal(text(500, 507), "sampled every 500 ms");
  assert.equal(text(500, 5001), "sampled every 5.00 s now, mostly every 500 ms");
  assert.equal(text(500, 60_000), "sampled every 60 s now, mostly every 500 ms");
  assert.equal(text(500, 100, false), "sampled every 100 ms at the end, mostly every 500 ms");
});
