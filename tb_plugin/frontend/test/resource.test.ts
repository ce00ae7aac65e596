import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, Importing } from "../src/api";
import { answered } from "../src/resource";

/** What a server says one time after the other. */
const saying = (...answers: (string | Error)[]) =>
  async function ask(): Promise<string> {
    const next = answers.shift();
    if (next instanceof Error) throw next;
    return next ?? "asked too often";
  };

test("what is asked by a click is asked again until the server has made it", async () => {
  assert.equal(await answered(saying(new Importing("reads the trace"), "the slice", "again")), "the slice");
});

test("a refusal and an import that was cancelled are told", async () => {
  await assert.rejects(answered(saying(new ApiError(404, "There is no such slice."))), /no such slice/);
  await assert.rejects(answered(saying(new Importing("The import was cancelled.", "cancelled"))), /cancelled/);
});
