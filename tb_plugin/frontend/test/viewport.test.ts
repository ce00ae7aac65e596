import assert from "node:assert/strict";
import { test } from "node:test";
import { around, clamp, contains, MIN_SPAN, pan, reveal, span, zoomAt } from "../src/timeline/viewport";

const bounds = { t0: 1000, t1: 11_000 };

test("zooming keeps the time under the pointer in its place", () => {
  const view = zoomAt({ t0: 2000, t1: 6000 }, bounds, 3000, 0.5);
  assert.deepEqual(view, { t0: 2500, t1: 4500 });
  assert.equal((3000 - view.t0) / span(view), 0.25);
});

test("zoom stops at the trace and at the closest zoom", () => {
  const out = zoomAt({ t0: 2000, t1: 6000 }, bounds, 3000, 100);
  assert.equal(span(out), 10_500);
  assert.ok(contains(out, bounds));
  assert.ok(Math.abs(span(zoomAt({ t0: 2000, t1: 2030 }, bounds, 2010, 0.01)) - MIN_SPAN) < 1e-6);
});

test("panning stops at the edges and keeps the width", () => {
  assert.deepEqual(pan({ t0: 2000, t1: 4000 }, bounds, 0.5), { t0: 3000, t1: 5000 });
  assert.deepEqual(pan({ t0: 2000, t1: 4000 }, bounds, -5), { t0: 1000, t1: 3000 });
  assert.deepEqual(pan({ t0: 9000, t1: 11_000 }, bounds, 3), { t0: 9000, t1: 11_000 });
});

test("clamping moves a range back inside and never turns it round", () => {
  assert.deepEqual(clamp({ t0: -500, t1: 500 }, bounds), { t0: 1000, t1: 2000 });
  const point = clamp({ t0: 3000, t1: 3000 }, bounds);
  assert.equal(span(point), MIN_SPAN);
});

test("a slice is shown with room around it", () => {
  assert.deepEqual(around(4000, 5000, bounds, 0.1), { t0: 3900, t1: 5100 });
});

test("revealing moves only when it must", () => {
  const view = { t0: 2000, t1: 4000 };
  assert.equal(reveal(view, bounds, 2500, 2600), view);
  assert.deepEqual(reveal(view, bounds, 7000, 7200), { t0: 6100, t1: 8100 });
  assert.ok(span(reveal(view, bounds, 3000, 9000)) > 6000);
});
