// The plugin's entry: TensorBoard loads this module in an iframe and calls render().

import { render as mount } from "preact";
import { askTreeEarly, setRouteBase } from "./api";
import { App } from "./app";
import { startData } from "./data";
import { nav, startState } from "./state";
import "./styles/index.css";

/** The style sheet lies beside the module; the page appears when it is there, never unstyled. */
function loadStyles(): Promise<void> {
  return new Promise((resolve) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = new URL("index.css", import.meta.url).href;
    link.onload = link.onerror = () => resolve();
    document.head.append(link);
  });
}

export async function render(): Promise<void> {
  setRouteBase(import.meta.url);
  document.documentElement.lang = "en";
  document.title = "Stepscope";
  startState();
  const { tab, run, worker } = nav.peek();
  if (tab === "timeline" && run !== null && worker !== null) askTreeEarly({ run, worker });
  startData();
  await loadStyles();
  const root = document.createElement("div");
  root.id = "stepscope";
  document.body.append(root);
  mount(<App />, root);
}
