// The minimap as a component: its canvas follows the model.

import { effect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { nav, theme } from "../state";
import { prepareCanvas } from "../ui/canvas";
import { attachMinimap, drawMinimap, MINIMAP_HEIGHT } from "./minimap";
import { LaneFilter } from "./lane-filter";
import { timeline } from "./model";

export function Minimap(): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const detach = attachMinimap(element, timeline);
    const stop = effect(() => {
      void timeline.range.value;
      void timeline.drawn.value;
      void timeline.answer.value;
      void timeline.measure.value;
      void timeline.finder.found.now.value;
      void timeline.finder.text.value;
      const width = timeline.width.value;
      const ctx = prepareCanvas(element, width, MINIMAP_HEIGHT);
      if (ctx) drawMinimap(ctx, width, timeline, theme.value, nav.value.color);
    });
    return () => {
      detach();
      stop();
    };
  }, []);
  return (
    <div class="minimap">
      <LaneFilter />
      <canvas ref={canvas} style={{ height: `${MINIMAP_HEIGHT}px` }} aria-hidden="true" data-testid="minimap" />
    </div>
  );
}
