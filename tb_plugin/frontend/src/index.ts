// The plugin's entry: TensorBoard loads this module in an iframe and calls render(). It is small: what the server has
// to read first is asked for while the pages themselves, a megabyte, are on their way.

import { address, ASKED, setRouteBase } from "./address";
import type { RunsAnswer } from "./api";
import { chosen } from "./chosen";
import { parseHash } from "./hash";
import { readHash } from "./host";
import "./styles/index.css";

function loadStyles(): Promise<void> {
  return new Promise((resolve) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = new URL("index.css", import.meta.url).href;
    link.onload = link.onerror = () => resolve();
    document.head.append(link);
  });
}

/** The answers that the page of the address begins with. */
function askEarly(): Map<string, Promise<Response>> {
  const { values } = parseHash(readHash());
  const [run, worker, tab, all] = ["run", "worker", "tab", "workers"].map((name) => values.get(`p.stepscope.${name}`));
  const asked = new Map<string, Promise<Response>>();
  const ask = (url: string): Promise<Response> => {
    const answer = fetch(url, ASKED);
    answer.catch(() => undefined); // it is told to who takes the answer
    asked.set(url, answer);
    return answer;
  };
  const askOf = (of: { run: string; worker: string }) => {
    if (tab === "timeline") ask(address("timeline/tree", of));
    if ((tab ?? "summary") === "summary") ask(address("summary", of));
  };
  const runs = ask(address("runs", {}));
  if (run && worker) askOf({ run, worker });
  else if (all === undefined) {
    runs
      .then((answer) => answer.clone().json() as Promise<RunsAnswer>)
      .then((answer) => {
        const first = chosen(answer.runs, run ?? null, worker ?? null);
        if (first.run && first.worker) askOf({ run: first.run.id, worker: first.worker.id });
      })
      .catch(() => undefined);
  }
  return asked;
}

export async function render(): Promise<void> {
  setRouteBase(import.meta.url);
  const pages = import(new URL("page.js", import.meta.url).href) as Promise<typeof import("./page")>;
  const early = askEarly();
  const styled = loadStyles();
  await (await pages).start(import.meta.url, early, styled);
}
