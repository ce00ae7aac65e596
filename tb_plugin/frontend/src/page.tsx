// The pages: the entry (index.ts) has loaded this module and calls start().

import { render as mount } from "preact";
import { setRouteBase } from "./address";
import { startAhead } from "./ahead";
import { sentEarly } from "./api";
import { App } from "./app";
import { drawAll } from "./charts/turns";
import { startData } from "./data";
import { startState } from "./state";

/**
 * Show the pages.
 * @param module where the entry was loaded from
 * @param early requests that are under way, by their address
 * @param styled when the style sheet is there: the page appears then, never unstyled
 */
export async function start(module: string, early: Map<string, Promise<Response>>, styled: Promise<void>) {
  setRouteBase(module);
  sentEarly(early);
  document.documentElement.lang = "en";
  document.title = "Stepscope";
  startState();
  startData();
  startAhead();
  addEventListener("beforeprint", drawAll);
  await styled;
  const root = document.createElement("div");
  root.id = "stepscope";
  document.body.append(root);
  mount(<App />, root);
}
