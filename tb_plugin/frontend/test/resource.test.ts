import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, Importing } from "../src/api";
import { answered, Resource } from "../src/resource";

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

/** Answers that come when the test says so. */
function held() {
  const asked: ((value: string) => void)[] = [];
  const fetcher = () => new Promise<string>((answer) => asked.push(answer));
  return { asked, fetcher };
}

const soon = () => new Promise((resolve) => setTimeout(resolve));

test("an answer to what is asked no more is not taken, however late it comes", async () => {
  const resource = new Resource<string>();
  const { asked, fetcher } = held();
  void resource.load(fetcher);
  void resource.load(fetcher);
  asked[1]("the new one");
  await soon();
  asked[0]("the old one");
  await soon();
  assert.equal(resource.now.value.value, "the new one");
});

test("what is asked again before it was answered is shown, and then asked once more", async () => {
  const resource = new Resource<string>();
  const { asked, fetcher } = held();
  void resource.load(fetcher);
  void resource.load(fetcher, true);
  void resource.load(fetcher, true);
  assert.equal(asked.length, 1);
  asked[0]("first");
  await soon();
  assert.equal(resource.now.value.value, "first");
  assert.equal(asked.length, 2);
  asked[1]("second");
  await soon();
  assert.deepEqual([resource.now.value.value, resource.busy, asked.length], ["second", false, 2]);
});

test("nothing is asked again of what was reset", async () => {
  const resource = new Resource<string>();
  const { asked, fetcher } = held();
  void resource.load(fetcher);
  void resource.load(fetcher, true);
  resource.reset();
  asked[0]("of another worker");
  await soon();
  assert.deepEqual([resource.now.value.state, asked.length], ["idle", 1]);
});
