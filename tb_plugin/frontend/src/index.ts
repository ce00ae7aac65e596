// The plugin's entry: TensorBoard loads this module in an iframe and calls render(). It is small: what the server has
// to read first is asked for while the pages themselves, a megabyte, are on their way.

import { address, ASKED, setRouteBase } from "./address";
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
  const [run, worker, tab] = ["run", "worker", "tab"].map((name) => values.get(`p.stepscope.${name}`));
  const wanted = [address("runs", {})];
  if (run && worker && tab === "timeline") wanted.push(address("timeline/tree", { run, worker }));
  if (run && worker && (tab ?? "summary") === "summary") wanted.push(address("summary", { run, worker }));
  return new Map(
    wanted.map((url) => {
      const answer = fetch(url, ASKED);
      answer.catch(() => undefined); // it is told to who takes the answer
      return [url, answer];
    }),
  );
}

export async function render(): Promise<void> {
  setRouteBase(import.meta.url);
  const pages = import(new URL("page.js", import.meta.url).href) as Promise<typeof import("./page")>;
  const early = askEarly();
  const styled = loadStyles();
  await (await pages).start(import.meta.url, early, styled);
}
