// The frame that the state of the model asks for.

import type { Theme } from "../palette";
import { nav } from "../state";
import type { TimelineModel } from "./model";
import { TOP, type Scene } from "./scene";
import type { Tree } from "./tree";

const NO_STEPS: Scene["steps"] = { id: [], start: [], end: [] };

export function sceneOf(model: TimelineModel, theme: Theme): Scene {
  const lanes = nav.peek().area?.lanes ?? null;
  const searched = model.finder.text.peek() !== "";
  return {
    theme,
    width: model.width.peek(),
    height: model.space.peek() + TOP,
    bands: model.bands.peek(),
    range: model.range.peek(),
    whole: model.whole.peek(),
    tree: model.arranged.peek().tree,
    steps: model.answer.peek()?.steps ?? NO_STEPS,
    tiles: model.tiles,
    curves: model.curves,
    selected: model.selectedHere.peek(),
    hover: model.hover.peek(),
    pointerX: model.pointerX.peek(),
    measure: model.measure.peek(),
    marked: lanes && withInner(model.tree.peek(), lanes),
    coloring: nav.peek().color,
    hits: model.finder.marked.peek(),
    page: searched ? model.finder.found.now.peek().value : null,
    flows: model.flows.peek(),
  };
}

/** Lanes and all below them. */
function withInner(tree: Tree, lanes: readonly number[]): Set<number> {
  const all = new Set<number>();
  const stack = [...lanes];
  for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
    if (all.has(id)) continue;
    all.add(id);
    for (const child of tree.byId.get(id)?.children ?? []) stack.push(child.info.id);
  }
  return all;
}
