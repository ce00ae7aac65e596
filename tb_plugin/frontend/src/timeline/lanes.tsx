// The lanes: their names as a tree on the left, the canvas on the right, both under one native scroll bar.

import { effect, useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { percent } from "../format";
import { theme } from "../state";
import { prepareCanvas } from "../ui/canvas";
import { Icon } from "../ui/icons";
import { drawScene } from "./draw";
import { attachKeys, attachPointer } from "./input";
import { timeline } from "./model";
import { TOP } from "./scene";
import { Tip } from "./tip";
import { lanePath, visibleRows, type LaneNode, type LayoutRow } from "./tree";
import { span } from "./viewport";

export function Lanes({ onHelp }: { onHelp: () => void }): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);

  useEffect(() => {
    const element = canvas.current;
    const outer = scroller.current;
    if (!element || !outer) return;
    const observer = new ResizeObserver(() => {
      // The stage sticks to the view while the spacer scrolls: a percentage would be one of the spacer.
      outer.style.setProperty("--lanes-height", `${outer.clientHeight}px`);
      timeline.width.value = element.clientWidth;
      timeline.height.value = Math.max(0, element.clientHeight - TOP);
    });
    observer.observe(outer);
    observer.observe(element);
    const onScroll = () => {
      timeline.scroll.value = outer.scrollTop;
    };
    outer.addEventListener("scroll", onScroll, { passive: true });

    let frame = 0;
    const paint = () => {
      frame = 0;
      const answer = timeline.answer.peek();
      const width = timeline.width.peek();
      const height = timeline.height.peek() + TOP;
      const ctx = answer && prepareCanvas(element, width, height);
      if (!ctx) return;
      drawScene(ctx, {
        theme: theme.peek(),
        width,
        height,
        scroll: timeline.scroll.peek(),
        range: timeline.range.peek(),
        whole: timeline.whole.peek(),
        tree: timeline.tree.peek(),
        layout: timeline.layout.peek(),
        steps: answer.steps,
        tiles: timeline.tiles,
        curves: timeline.curves,
        selected: timeline.selected.now.peek().value,
        hover: timeline.hover.peek(),
        pointerX: timeline.pointerX.peek(),
        measure: timeline.measure.peek(),
      });
    };
    const stops = [
      effect(() => {
        void theme.value;
        void timeline.range.value;
        void timeline.layout.value;
        void timeline.width.value;
        void timeline.height.value;
        void timeline.drawn.value;
        void timeline.answer.value;
        void timeline.selected.now.value;
        void timeline.hover.value;
        void timeline.pointerX.value;
        void timeline.measure.value;
        void timeline.scroll.value;
        if (frame === 0) frame = requestAnimationFrame(paint);
      }),
      effect(() => {
        const y = timeline.scroll.value;
        void timeline.layout.value;
        requestAnimationFrame(() => {
          if (Math.abs(outer.scrollTop - y) >= 1) outer.scrollTop = y;
        });
      }),
      attachPointer(element, timeline),
      attachKeys(element, timeline, onHelp),
    ];
    return () => {
      observer.disconnect();
      outer.removeEventListener("scroll", onScroll);
      cancelAnimationFrame(frame);
      stops.forEach((stop) => stop());
    };
  }, []);

  return (
    <div class="lanes" ref={scroller} tabIndex={-1}>
      <div class="lanes-spacer" style={{ height: `${timeline.layout.value.height + TOP}px` }}>
        <div class="lanes-stage">
          <Labels />
          <div class="lanes-canvas">
            <canvas
              ref={canvas}
              tabIndex={0}
              role="application"
              aria-label="Timeline of the lanes on the left. Press question mark for the keys; Enter selects the longest slice in view, which the panel below describes. The tab In view lists slices as a table."
              data-testid="timeline-canvas"
            />
            <Tip />
          </div>
        </div>
      </div>
    </div>
  );
}

/** Names of the visible lanes. One element has the focus; arrows move within the tree as in any tree. */
function Labels(): JSX.Element {
  const [active, setActive] = useState<number | null>(null);
  const rows = useComputed(() => {
    const top = timeline.scroll.value;
    return visibleRows(timeline.layout.value, top, top + timeline.height.value);
  });
  const onKey = (event: KeyboardEvent) => {
    const all = timeline.layout.peek().rows;
    const at = Math.max(
      0,
      all.findIndex((row) => row.node.info.id === active),
    );
    const row = all[at];
    if (!row) return;
    const move = (to: LayoutRow | undefined) => {
      if (!to) return;
      setActive(to.node.info.id);
      const top = timeline.scroll.peek();
      if (to.y < top) timeline.setScroll(to.y);
      else if (to.y + to.height > top + timeline.height.peek())
        timeline.setScroll(to.y + to.height - timeline.height.peek());
    };
    if (event.key === "ArrowDown") move(all[at + (active === null ? 0 : 1)]);
    else if (event.key === "ArrowUp") move(all[at - 1]);
    else if (event.key === "Home") move(all[0]);
    else if (event.key === "End") move(all.at(-1));
    else if (event.key === "ArrowRight") {
      if (row.foldable && row.folded) timeline.toggle(row.node);
      else move(all.find((other) => other.node.parent === row.node));
    } else if (event.key === "ArrowLeft") {
      if (row.foldable && !row.folded) timeline.toggle(row.node);
      else move(all.find((other) => other.node === row.node.parent));
    } else if (event.key === "Enter" || event.key === " ") {
      if (row.foldable) timeline.toggle(row.node);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="labels">
      <div class="labels-corner" style={{ height: `${TOP}px` }}>
        <span>Time</span>
        <span>Steps</span>
      </div>
      <div
        class="labels-body"
        role="tree"
        aria-label="Lanes"
        tabIndex={0}
        aria-activedescendant={active === null ? undefined : `lane-${active}`}
        onKeyDown={onKey}
        onFocus={() => active === null && setActive(rows.peek()[0]?.node.info.id ?? null)}
      >
        {rows.value.map((row) => (
          <Label
            key={row.node.info.id}
            row={row}
            active={row.node.info.id === active}
            onActivate={() => setActive(row.node.info.id)}
          />
        ))}
      </div>
    </div>
  );
}

/** The share of the trace in which a lane was busy, where that tells something. */
function busyText(node: LaneNode): string {
  const { busy_ns, type, events } = node.info;
  if (busy_ns === null || events === 0 || type === "counter") return "";
  return percent(Math.min(1, busy_ns / span(timeline.whole.value)));
}

function Label({ row, active, onActivate }: { row: LayoutRow; active: boolean; onActivate: () => void }): JSX.Element {
  const { info, level, children } = row.node;
  const busy = busyText(row.node);
  const inside = row.folded && children.length > 0 ? ` (${children.length})` : "";
  // The name of a tall lane stays in sight while any of it does.
  const hidden = Math.max(0, timeline.scroll.value - row.y);
  const sticky = Math.min(hidden, Math.max(0, row.height - 24));
  const toggle = () => {
    onActivate();
    if (row.foldable) timeline.toggle(row.node);
  };
  return (
    <div
      id={`lane-${info.id}`}
      role="treeitem"
      class={`label ${row.kind} type-${info.type}${active ? " active" : ""}${row.foldable ? " foldable" : ""}`}
      aria-level={level + 1}
      aria-expanded={row.foldable ? !row.folded : undefined}
      style={{
        top: `${row.y - timeline.scroll.value}px`,
        height: `${row.height}px`,
        paddingLeft: `${6 + level * 12}px`,
        paddingTop: `${3 + sticky}px`,
      }}
      title={`${lanePath(timeline.tree.value, info.id)}${info.events > 0 ? `\n${info.events.toLocaleString("en-US")} events` : ""}`}
      onClick={toggle}
      data-testid={`lane-${info.type}`}
    >
      <span class={`fold${row.folded ? " folded" : ""}`} aria-hidden="true">
        {row.foldable && <Icon shape="chevron" />}
      </span>
      <span class="label-name">
        {info.name}
        {inside && <span class="faint">{inside}</span>}
      </span>
      {busy && (
        <span class="label-busy" title="Time with an event on this lane, divided by the whole trace">
          {busy}
        </span>
      )}
    </div>
  );
}
