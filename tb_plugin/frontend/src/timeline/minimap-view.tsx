// The minimap as a component: its canvas follows the model.

import { effect } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { part, theme } from "../state";
import { prepareCanvas } from "../ui/canvas";
import { attachMinimap, drawMinimap, drawWhole, MINIMAP_HEIGHT } from "./minimap";
import { LaneFilter } from "./lane-filter";
import { timeline } from "./model";

const coloring = part("color");

export function Minimap(): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const detach = attachMinimap(element, timeline);
    const background = document.createElement("canvas");
    let frame = 0;
    let isOld = true; // the background
    const paint = () => {
      frame = 0;
      const width = timeline.width.peek();
      const behind = isOld ? prepareCanvas(background, width, MINIMAP_HEIGHT) : null;
      isOld = false;
      if (behind) drawWhole(behind, width, timeline, theme.peek(), coloring.peek());
      const ctx = prepareCanvas(element, width, MINIMAP_HEIGHT);
      if (ctx && background.width > 0) drawMinimap(ctx, width, timeline, theme.peek(), background);
    };
    const stops = [
      effect(() => {
        void timeline.drawn.value;
        void timeline.answer.value;
        void timeline.width.value;
        void theme.value;
        void coloring.value;
        isOld = true;
      }),
      effect(() => {
        void timeline.drawn.value;
        void timeline.answer.value;
        void timeline.width.value;
        void theme.value;
        void coloring.value;
        void timeline.range.value;
        void timeline.measure.value;
        void timeline.finder.found.now.value;
        void timeline.finder.text.value;
        if (frame === 0) frame = requestAnimationFrame(paint);
      }),
    ];
    return () => {
      detach();
      cancelAnimationFrame(frame);
      stops.forEach((stop) => stop());
    };
  }, []);
  return (
    <div class="minimap">
      <LaneFilter />
      <canvas ref={canvas} style={{ height: `${MINIMAP_HEIGHT}px` }} aria-hidden="true" data-testid="minimap" />
    </div>
  );
}
