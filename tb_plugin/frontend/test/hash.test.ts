import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeState, encodeState, INITIAL, parseHash, type ViewState } from "../src/hash";

const full: ViewState = {
  run: "sweep/lr=0.1&x #1",
  worker: "0-node%2F7",
  tab: "timeline",
  span: { start: 1_751_410_836_123_456_789n, fraction: 0, width: 2500.5 },
  slice: 62257,
  by: "phase",
  scale: "share",
  steps: "all",
  fold: [3, 1_234_567_890],
};

test("a state survives the address, to the nanosecond", () => {
  assert.deepEqual(decodeState(encodeState(full, "#stepscope")), full);
  assert.deepEqual(decodeState(encodeState(INITIAL, "#stepscope")), INITIAL);
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
    "#stepscope&p.stepscope.tab=x&p.stepscope.at=abc&p.stepscope.slice=-3&p.stepscope.fold=1,x,,2&p.stepscope.by=%E0%A4%A";
  assert.deepEqual(decodeState(hash), { ...INITIAL, fold: [1, 2] });
  assert.equal(decodeState("#stepscope&p.stepscope.at=5,0").span, null);
});
