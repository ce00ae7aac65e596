// Cards of different heights in as many columns as there is room for, each below the shortest column.

import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

const GAP = 12; // as in parts.css

/** A part of a page with a heading; nothing where none of its cards shows anything. */
export function Section(props: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <section class="section" aria-label={props.title}>
      <h2 class="section-title">{props.title}</h2>
      <Cards>{props.children}</Cards>
    </section>
  );
}

/** A grid of rows one pixel high: a card spans as many as it is high, so that the next one closes up to it. */
export function Cards({ children }: { children: ComponentChildren }): JSX.Element {
  const grid = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = grid.current;
    if (!element) return;
    // The observer calls before the frame is painted. It tells the heights: asked for one by one between the changes,
    // each would lay the page out anew.
    const sizes = new ResizeObserver((entries) => {
      for (const { target, borderBoxSize } of entries) {
        (target as HTMLElement).style.gridRowEnd = `span ${Math.ceil(borderBoxSize[0].blockSize) + GAP}`;
      }
    });
    const watch = () => {
      sizes.disconnect();
      for (const card of element.children) sizes.observe(card);
    };
    const cards = new MutationObserver(watch);
    cards.observe(element, { childList: true });
    watch();
    return () => {
      sizes.disconnect();
      cards.disconnect();
    };
  }, []);
  return (
    <div class="columns" ref={grid}>
      {children}
    </div>
  );
}
