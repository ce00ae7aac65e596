import assert from "node:assert/strict";
import { test } from "node:test";
import { csv } from "../src/csv";
import { decodeDashboard, encodeDashboard, INITIAL_DASHBOARD, type DashboardView } from "../src/dashboard/view";

const through = (view: DashboardView) => {
  const keys = new Map(encodeDashboard(view));
  return decodeDashboard((key) => keys.get(key) ?? null);
};

test("what the panels show survives the address", () => {
  const full: DashboardView = {
    kernels: 40,
    list: "modules",
    histograms: ['step "1", <b>\n', "‮evil", "=cmd|x"],
    findings: ["input_bound", "dominant_kernel"],
    host: true,
    device: true,
    range: { first: 3, last: 1_000_000 },
    step: 12,
    flame: "host",
    each: true,
    module: ["Net_0", "Layer › 3"],
  };
  assert.deepEqual(through(full), full);
  assert.deepEqual(through(INITIAL_DASHBOARD), INITIAL_DASHBOARD);
  assert.ok(encodeDashboard(INITIAL_DASHBOARD).every(([, value]) => value === null));
});

test("an address that says it wrongly says nothing", () => {
  const wrong = new Map([
    ["k", "0"],
    ["list", "kernels"],
    ["hist", '{"a":1}'],
    ["finding", "<b>,"],
    ["range", "7-3"],
    ["step", "-1"],
    ["module", "[1,"],
  ]);
  const found = decodeDashboard((key) => wrong.get(key) ?? null);
  assert.deepEqual(found, { ...INITIAL_DASHBOARD, kernels: 1 });
});

test("no cell of a CSV file is a formula, and no name breaks its line", () => {
  const text = csv(
    ["Name", "Time (ns)"],
    [
      ["=1+1", 5],
      ["+a", -3],
      ["-b", null],
      ["@c", 0.5],
      ['say "x",\ny', true],
    ],
  );
  assert.equal(text, 'Name,Time (ns)\r\n\'=1+1,5\r\n\'+a,-3\r\n\'-b,\r\n\'@c,0.5\r\n"say ""x"",\ny",true\r\n');
});
