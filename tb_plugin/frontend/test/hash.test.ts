import assert from "node:assert/strict";
import { test } from "node:test";
import { INITIAL_DASHBOARD } from "../src/dashboard/view";
import { decodeState, encodeState, INITIAL, parseHash, type ViewState } from "../src/hash";
import { INITIAL_TABLE } from "../src/table/view";
import { INITIAL_XLA } from "../src/xla/view";
import { INITIAL_TIME } from "../src/time/view";

const full: ViewState = {
  run: "sweep/lr=0.1&x #1",
  worker: "0-node%2F7",
  whole: true,
  measure: "phase.input_wait",
  tab: "timeline",
  span: { start: 1_751_410_836_123_456_789n, fraction: 0, width: 2500.5 },
  slice: 62257,
  by: "phase",
  scale: "share",
  steps: "all",
  fold: [3, 1_234_567_890],
  pins: [9, 2],
  filter: "stream 7 & <b>",
  idle: true,
  moves: [
    [5, 3],
    [8, 0],
  ],
  sizes: [[5, 12]],
  tops: [[5, 3]],
  labels: 310,
  color: "module",
  arrows: "all",
  find: "^aten::(mm|add)=.*",
  rules: "ra",
  area: { start: 1_751_410_836_123_456_700n, width: 99.25, lanes: [7, 9] },
  among: true,
  compare: { lane: 7, step: 1011 },
  against: { run: "sweep/lr=0.2&x", worker: "0-node%2F8" },
  joined: "tree",
  within: "Net_0 / Block_1",
  of: "1-node-3",
  tables: INITIAL_TABLE,
  dashboard: INITIAL_DASHBOARD,
  memory: {
    span: { start: 1_751_410_836_123_456_789n, fraction: 0, width: 5000 },
    moment: 1_751_410_836_123_456_999n,
    last: null,
    host: null,
    allocator: 1,
    by: "module",
  },
  resources: { ...INITIAL_TIME, last: 300, host: "node-3" },
  allocations: { ...INITIAL_TABLE, table: "allocations", by: "size", text: "mm" },
  xla: { ...INITIAL_XLA, program: "-7", show: "graph", op: "fusion.1", opened: ["fusion.2"] },
};

test("a state survives the address, to the nanosecond", () => {
  assert.deepEqual(decodeState(encodeState(full, "#stepscope")), full);
  assert.deepEqual(decodeState(encodeState(INITIAL, "#stepscope")), INITIAL);
});

test("every lane, an alignment by the clock", () => {
  const state: ViewState = {
    ...INITIAL,
    area: { start: -5n, width: 10, lanes: null },
    compare: { lane: 7, step: null },
  };
  assert.deepEqual(decodeState(encodeState(state, "#stepscope")), state);
});

test("nothing that differs from the initial state means no keys at all", () => {
  assert.equal(encodeState(INITIAL, "#stepscope"), "#stepscope");
  assert.equal(encodeState(INITIAL, ""), "#stepscope");
});

test("the hash has the form that TensorBoard parses: the plugin, then key=value with both encoded", () => {
  const parts = encodeState(full, "#stepscope").slice(1).split("&");
  assert.equal(parts[0], "stepscope");
  for (const part of parts.slice(1)) assert.equal(part.split("=").length, 2, part);
});

test("keys of others stay, ours are replaced", () => {
  const hash = encodeState({ ...INITIAL, run: "b" }, "#stepscope&tagFilter=loss&p.stepscope.run=a&p.stepscope.slice=7");
  const { plugin, values } = parseHash(hash);
  assert.equal(plugin, "stepscope");
  assert.deepEqual(
    [...values],
    [
      ["tagFilter", "loss"],
      ["p.stepscope.run", "b"],
    ],
  );
});

test("nonsense in the address becomes the initial state", () => {
  const hash =
    "#stepscope&p.stepscope.tab=x&p.stepscope.at=abc&p.stepscope.slice=-3&p.stepscope.fold=1,x,,2&p.stepscope.by=%E0%A4%A" +
    "&p.stepscope.area=1&p.stepscope.compare=x&p.stepscope.order=1,2.x,3.4.5&p.stepscope.size=1.0&p.stepscope.rules=zz";
  assert.deepEqual(decodeState(hash), { ...INITIAL, fold: [1, 2] });
  assert.equal(decodeState("#stepscope&p.stepscope.at=5,0").span, null);
});
