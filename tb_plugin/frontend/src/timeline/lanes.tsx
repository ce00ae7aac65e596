// The lanes: their names as a tree on the left, the canvas on the right, both under one native scroll bar.

import { effect, useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { LaneInfo } from "../api";
import { shown } from "../data";
import { percent, plural } from "../format";
import { seriesColor } from "../palette";
import { adjust, part, theme } from "../state";
import { prepareCanvas } from "../ui/canvas";
import { Icon } from "../ui/icons";
import { drawScene } from "./draw";
import { isMore } from "./arrange";
import { isPeer } from "./compare";
import { attachKeys, attachPointer, type KeyTargets } from "./input";
import { timeline } from "./model";
import { TOP } from "./scene";
import { Tip } from "./tip";
import { sceneOf } from "./scene-of";
import { HEADER_HEIGHT, lanePath, rowsIn, visibleRows, type LaneNode, type LayoutRow } from "./tree";
import { span } from "./viewport";

const coloring = part("color");
const area = part("area");
const pins = part("pins");
const compared = part("compare");
const namesWanted = part("labels");

const MOST_CURVE_ROWS = 60;

export function Lanes({ targets }: { targets: KeyTargets }): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);

  // Before the first paint, not after it: the first request waits for the width.
  useLayoutEffect(() => {
    const element = canvas.current;
    const outer = scroller.current;
    if (!element || !outer) return;
    const measure = () => {
      // The stage sticks to the view while the spacer scrolls: a percentage would be one of the spacer.
      outer.style.setProperty("--lanes-height", `${outer.clientHeight}px`);
      timeline.width.value = element.clientWidth;
      timeline.space.value = Math.max(0, element.clientHeight - TOP);
    };
    measure();
    const observer = new ResizeObserver(measure);
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
      const height = timeline.space.peek() + TOP;
      const ctx = answer && prepareCanvas(element, width, height);
      if (ctx) drawScene(ctx, sceneOf(timeline, theme.peek()));
    };
    const stops = [
      effect(() => {
        void theme.value;
        void timeline.range.value;
        void timeline.bands.value;
        void timeline.width.value;
        void timeline.space.value;
        void timeline.drawn.value;
        void timeline.answer.value;
        void timeline.selectedHere.value;
        void timeline.finder.marked.value;
        void timeline.flows.value;
        void coloring.value;
        void area.value;
        void timeline.hover.value;
        void timeline.pointerX.value;
        void timeline.measure.value;
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
      attachKeys(element, timeline, targets),
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
      <div
        class="lanes-spacer"
        style={{ height: `${timeline.layout.value.height + timeline.pinnedHeight.value + TOP}px` }}
      >
        <div class="lanes-stage">
          <Labels />
          <div class="lanes-canvas">
            <canvas
              ref={canvas}
              tabIndex={0}
              role="application"
              aria-label="Timeline of the lanes on the left. Press question mark for the keys; Enter selects the longest slice in view, which the panel below describes. V lists the slices in view as a table."
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
  const pins = useComputed(() => {
    const top = timeline.pinScroll.value;
    return visibleRows(timeline.pinned.value, top, top + timeline.pinnedHeight.value);
  });
  const onKey = (event: KeyboardEvent) => {
    const all = timeline.layout.peek().rows;
    const at = Math.max(
      0,
      all.findIndex((row) => row.node.info.id === active),
    );
    const row = all[at];
    if (!row || event.ctrlKey || event.metaKey) return;
    const { id } = row.node.info;
    const move = (to: LayoutRow | undefined) => {
      if (!to) return;
      setActive(to.node.info.id);
      const top = timeline.scroll.peek();
      if (to.y < top) timeline.setScroll(to.y);
      else if (to.y + to.height > top + timeline.height.peek())
        timeline.setScroll(to.y + to.height - timeline.height.peek());
    };
    if (event.altKey && event.key === "ArrowUp") timeline.desk.move(id, -1);
    else if (event.altKey && event.key === "ArrowDown") timeline.desk.move(id, 1);
    else if (event.altKey) return;
    else if (event.shiftKey && event.key === "ArrowUp") timeline.desk.showFrom(row, row.first - 1);
    else if (event.shiftKey && event.key === "ArrowDown") timeline.desk.showFrom(row, row.first + 1);
    else if (event.key === "+") resizeBy(row, 1);
    else if (event.key === "-") resizeBy(row, -1);
    else if (event.key === "*" && row.kind === "slices" && !row.folded) toggleRows(row);
    else if (event.key === "t" && id >= 0) timeline.desk.togglePin(id);
    else if (event.key === "o" && id >= 0) timeline.desk.toggleCompare(id);
    else if (event.key === "ArrowDown") move(all[at + (active === null ? 0 : 1)]);
    else if (event.key === "ArrowUp") move(all[at - 1]);
    else if (event.key === "Home") move(all[0]);
    else if (event.key === "End") move(all.at(-1));
    else if (event.key === "ArrowRight") {
      if (row.foldable && row.folded) timeline.desk.toggle(row.node);
      else move(all.find((other) => other.node.parent === row.node));
    } else if (event.key === "ArrowLeft") {
      if (row.foldable && !row.folded) timeline.desk.toggle(row.node);
      else move(all.find((other) => other.node === row.node.parent));
    } else if (event.key === "Enter" || event.key === " ") {
      if (row.foldable || isMore(row.node.info)) timeline.desk.toggle(row.node);
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
      {pins.value.length > 0 && (
        <div
          class="labels-pinned"
          role="list"
          aria-label="Pinned lanes"
          data-testid="pinned"
          style={{ height: `${timeline.pinnedHeight.value}px` }}
        >
          {pins.value.map((row) => (
            <Label key={row.node.info.id} row={row} pinned active={false} onActivate={() => undefined} />
          ))}
        </div>
      )}
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
            pinned={false}
            active={row.node.info.id === active}
            onActivate={() => setActive(row.node.info.id)}
          />
        ))}
      </div>
      <LabelsEdge />
    </div>
  );
}

const LEAST_NAMES = 140;
const MOST_NAMES = 700;

/** The edge that makes the names wider. */
function LabelsEdge(): JSX.Element {
  const width = namesWidth();
  const set = (px: number) => adjust({ labels: Math.round(Math.min(MOST_NAMES, Math.max(LEAST_NAMES, px))) });
  const start = (event: PointerEvent) => {
    const from = event.clientX;
    drag(event, (now) => set(width + now.clientX - from));
  };
  return (
    <div
      class="labels-edge"
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the names"
      aria-valuenow={width}
      tabIndex={0}
      data-testid="names-edge"
      onPointerDown={start}
      onKeyDown={(event) => {
        const by = event.key === "ArrowRight" ? 16 : event.key === "ArrowLeft" ? -16 : 0;
        if (by === 0) return;
        set(width + by);
        event.preventDefault();
        event.stopPropagation();
      }}
    />
  );
}

const DEFAULT_NAMES = 264;
export const namesWidth = () => namesWanted.value ?? DEFAULT_NAMES;

/** Follow the pointer until it is let go. */
function drag(event: PointerEvent, move: (now: PointerEvent) => void, end?: (now: PointerEvent) => void): void {
  const up = (now: PointerEvent) => {
    document.removeEventListener("pointermove", move);
    document.removeEventListener("pointerup", up);
    end?.(now);
  };
  document.addEventListener("pointermove", move);
  document.addEventListener("pointerup", up);
  event.preventDefault();
}

function resizeBy(row: LayoutRow, by: 1 | -1): void {
  const { info } = row.node;
  if (row.kind === "header" || info.id < 0 || row.folded) return;
  const rows = row.kind === "counter" ? rowsIn(row.height) : row.rows;
  setRows(row, rows + by);
}

/** Show so many rows of a lane, at least one. */
function setRows(row: LayoutRow, rows: number): void {
  const { info } = row.node;
  timeline.desk.resize(info.id, Math.max(1, Math.min(rows, row.kind === "slices" ? info.rows : MOST_CURVE_ROWS)));
}

/** Show all rows of a lane; where it shows them all, as many as it usually does. */
function toggleRows({ node, rows }: LayoutRow): void {
  timeline.desk.resize(node.info.id, rows < node.info.rows ? node.info.rows : null);
}

/** The share of the trace in which a lane was busy, where that tells something. */
function busyText(node: LaneNode): string {
  const { busy_ns, type, events } = node.info;
  if (busy_ns === null || events === 0 || type === "counter") return "";
  return percent(Math.min(1, busy_ns / span(timeline.whole.value)));
}

interface LabelProps {
  row: LayoutRow;
  pinned: boolean; // stands among the pinned lanes
  active: boolean;
  onActivate: () => void;
}

function Label({ row, pinned, active, onActivate }: LabelProps): JSX.Element {
  const { info, level, children } = row.node;
  const [lifted, setLifted] = useState(false);
  const busy = busyText(row.node);
  const inside = row.folded && children.length > 0 ? `(${children.length})` : "";
  const ours = info.id < 0;
  // What is not shown is told, and how to see it; lanes of other workers show what the compared one does.
  const isOpen = row.kind === "slices" && !row.folded && !ours;
  const cut = isOpen ? info.rows - row.rows : 0;
  const canShrink = isOpen && cut === 0 && row.rows > (timeline.usualRows.value.get(info.id) ?? Infinity);
  const scroll = pinned ? timeline.pinScroll.value : timeline.scroll.value;
  // The name of a tall lane stays in sight while any of it does.
  const hidden = Math.max(0, scroll - row.y);
  const below = (cut > 0 || canShrink) && row.rows > 1; // the button stands at the lower edge
  const sticky = Math.min(hidden, Math.max(0, row.height - (below ? 40 : 24)));
  const act = () => {
    onActivate();
    if (isPeer(info.id)) {
      const peer = timeline.comparison.of(info.id);
      if (peer) timeline.openPeer(peer.worker);
    } else if (row.foldable || isMore(info)) timeline.desk.toggle(row.node);
  };
  const startMove = (event: PointerEvent) => {
    if (event.button !== 0 || pinned || ours) return;
    const from = event.clientY;
    let moved = false;
    drag(
      event,
      (now) => {
        if (!moved && Math.abs(now.clientY - from) > 6) setLifted((moved = true));
      },
      (now) => {
        setLifted(false);
        if (moved) drop(row, now.clientY - from);
        else act();
      },
    );
  };
  const startResize = (event: PointerEvent) => {
    event.stopPropagation();
    const from = event.clientY;
    const height = row.height;
    drag(event, (now) => setRows(row, rowsIn(height + now.clientY - from)));
  };
  const path = ours ? info.name : lanePath(timeline.tree.value, info.id);
  return (
    <div
      id={pinned ? undefined : `lane-${info.id}`}
      role={pinned ? "listitem" : "treeitem"}
      class={`label ${row.kind} type-${info.type}${active ? " active" : ""}${row.foldable || ours ? " foldable" : ""}${lifted ? " lifted" : ""}`}
      aria-level={pinned ? undefined : level + 1}
      aria-expanded={row.foldable && !pinned ? !row.folded : undefined}
      style={{
        top: `${row.y - scroll}px`,
        height: `${row.height}px`,
        paddingLeft: `${pinned ? 10 : 6 + level * 12}px`,
        paddingTop: `${3 + sticky}px`,
      }}
      title={`${path}${info.events > 0 ? `\n${info.events.toLocaleString("en-US")} events` : ""}${isPeer(info.id) ? "\nClick to open this worker" : ""}`}
      onPointerDown={startMove}
      onClick={pinned || ours ? act : undefined}
      data-testid={pinned ? "pinned-lane" : `lane-${info.type}`}
      data-lane={info.id}
    >
      <span class={`fold${row.folded || isMore(info) ? " folded" : ""}`} aria-hidden="true">
        {((row.foldable && !pinned) || isMore(info)) && <Icon shape="chevron" />}
      </span>
      <span class="label-name">
        <bdi>{info.name}</bdi>
        {inside && <span class="faint">{inside}</span>}
      </span>
      {info.of_work && <Legend lane={info} />}
      {(cut > 0 || canShrink) && <HiddenRows row={row} cut={cut} below={below} />}
      {busy && (
        <span class="label-busy" title="Time with an event on this lane, divided by the whole trace">
          {busy}
        </span>
      )}
      {!ours && row.kind !== "header" && <LabelTools row={row} />}
      {!ours && row.kind !== "header" && !row.folded && (
        <span class="label-grip" aria-hidden="true" data-testid="lane-grip" onPointerDown={startResize} />
      )}
    </div>
  );
}

/** The curves of device work or of a counter by their colours, unless there is but the one that the lane is named after. */
function Legend({ lane }: { lane: LaneInfo }): JSX.Element | null {
  void timeline.drawn.value;
  const curves = timeline.curves.work.legend(lane.id);
  if (curves.length === 1 && curves[0].series.label.split(",")[0] === lane.name) return null;
  return (
    <span class="label-legend">
      {curves.map(({ series, color, why }) => (
        <span key={series.id} class={why ? "faint" : ""}>
          <span class="swatch" style={{ background: seriesColor(theme.value, color) }} />
          {series.label.split(",")[0]}
        </span>
      ))}
    </span>
  );
}

/** How many rows a lane does not show, above and below those that it does, and buttons that show them. */
function HiddenRows({ row, cut, below }: { row: LayoutRow; cut: number; below: boolean }): JSX.Element {
  const { first, rows } = row;
  const stop = (event: Event) => event.stopPropagation();
  const button = (testId: string, text: string, title: string, act: () => void, label?: string) => (
    <button type="button" tabIndex={-1} title={title} aria-label={label} data-testid={testId} onClick={act}>
      {text}
    </button>
  );
  const page = (testId: string, arrow: string, key: string, hidden: number, where: string, by: number) => {
    const label = `${plural(hidden, "row")} ${where} those shown`;
    const act = () => timeline.desk.showFrom(row, first + by * Math.max(1, rows - 1));
    return below && hidden > 0 && button(testId, `${arrow} ${hidden}`, `${label} (Shift ${key})`, act, label);
  };
  const title = `${cut > 0 ? "Show all rows" : "Show fewer rows"} of this lane (* with the names in focus)`;
  return (
    <span class={`label-rows${below ? " below" : ""}`} onPointerDown={stop} onClick={stop}>
      {button("lane-rows", cut > 0 ? plural(cut, "more row") : "fewer rows", title, () => toggleRows(row))}
      {page("rows-above", "▲", "↑", Math.min(cut, first), "above", -1)}
      {page("rows-below", "▼", "↓", cut - first, "below", 1)}
    </span>
  );
}

/** Put a lane where it was dropped: before the lane beside it that begins below. */
function drop(row: LayoutRow, by: number): void {
  const { node } = row;
  const beside = node.parent?.children ?? timeline.arranged.peek().tree.roots;
  const y = row.y + by;
  const layout = timeline.layout.peek();
  const next = beside.find((other) => {
    const place = layout.index.get(other.info.id);
    return other !== node && other.info.id >= 0 && place !== undefined && place.y + HEADER_HEIGHT / 2 > y;
  });
  timeline.desk.moveBefore(node.info.id, next?.info.id ?? 0);
}

/** Buttons on a lane's name; the keys T and O do the same. */
function LabelTools({ row }: { row: LayoutRow }): JSX.Element {
  const { id, name } = row.node.info;
  const pinned = pins.value.includes(id);
  const many = (shown.value.run?.workers.length ?? 0) > 1;
  const stop = (event: Event) => event.stopPropagation();
  return (
    <span class={`label-tools${pinned ? " on" : ""}`} onPointerDown={stop} onClick={stop}>
      {many && row.kind === "slices" && (
        <button
          type="button"
          tabIndex={-1}
          aria-label={`Compare ${name} over the workers`}
          aria-pressed={compared.value?.lane === id}
          title="Compare this lane over the workers of the run (O)"
          data-testid="compare-lane"
          onClick={() => timeline.desk.toggleCompare(id)}
        >
          <Icon shape="compare" />
        </button>
      )}
      <button
        type="button"
        tabIndex={-1}
        aria-label={pinned ? `Unpin ${name}` : `Pin ${name} to the top`}
        aria-pressed={pinned}
        title={pinned ? "Unpin (T)" : "Pin to the top (T)"}
        data-testid="pin-lane"
        onClick={() => timeline.desk.togglePin(id)}
      >
        <Icon shape="pin" />
      </button>
    </span>
  );
}
