import assert from "node:assert/strict";
import { test } from "node:test";
import { drawAll, inTurn } from "../src/charts/turns";
import { counted } from "../src/under-way";

const frames: (() => void)[] = [];
Object.assign(globalThis, { requestAnimationFrame: (then: () => void) => frames.push(then) });

/** A frame is painted, and the messages that were waiting for it have come. */
async function frame(): Promise<void> {
  frames.splice(0).forEach((then) => then());
  await new Promise<void>((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => (port1.close(), resolve());
    port2.postMessage(0);
  });
}

test("a few are drawn after each frame, in the order in which they came, but those that were called off", async (t) => {
  const drawn: string[] = [];
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const takes = (name: string, ms: number) => () => {
    drawn.push(name);
    now += ms;
  };
  inTurn(takes("a", 10));
  const callOff = inTurn(takes("b", 10));
  inTurn(takes("c", 10));
  inTurn(takes("d", 50));
  inTurn(takes("e", 5));
  assert.deepEqual(drawn, []);
  callOff();
  await frame();
  assert.deepEqual(drawn, ["a", "c"]);
  await frame();
  assert.deepEqual(drawn, ["a", "c", "d"]);
  await frame();
  assert.deepEqual(drawn, ["a", "c", "d", "e"]);
});

test("all that wait are drawn at once for a printer, and once", async () => {
  const drawn: string[] = [];
  inTurn(() => drawn.push("a"));
  inTurn(() => drawn.push("b"));
  drawAll();
  assert.deepEqual(drawn, ["a", "b"]);
  await frame();
  await frame();
  assert.deepEqual(drawn, ["a", "b"]);
});

test("answers that are under way come first, for a while", async (t) => {
  const drawn: string[] = [];
  let now = 0;
  t.mock.method(performance, "now", () => now);
  let answer = () => {};
  const answered = counted(new Promise<void>((resolve) => (answer = resolve)));
  inTurn(() => drawn.push("a"));
  await frame();
  assert.equal(drawn.length, 0);
  answer();
  await answered;
  await frame();
  assert.equal(drawn.length, 1);

  void counted(new Promise<void>(() => {})); // never comes
  inTurn(() => drawn.push("b"));
  now = 99;
  await frame();
  assert.equal(drawn.length, 1);
  now = 100;
  await frame();
  assert.deepEqual(drawn, ["a", "b"]);
});
