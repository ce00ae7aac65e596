// Cards of different heights in as many columns as there is room for, each below the shortest column.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

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
  useEffect(() => {
    const element = grid.current;
    if (!element) return;
    const span = (card: HTMLElement) => {
      card.style.gridRowEnd = `span ${Math.ceil(card.offsetHeight) + GAP}`;
    };
    const sizes = new ResizeObserver((entries) => entries.forEach((entry) => span(entry.target as HTMLElement)));
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
