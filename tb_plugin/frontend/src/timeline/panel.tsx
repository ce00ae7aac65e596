// The panel under the lanes: the selected slice with its connections, or the slices in view as a table.

import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Connection, SliceAnswer } from "../api";
import { count, duration, exact, clock, plural } from "../format";
import { KIND_NAMES } from "../kinds";
import { kindColor } from "../palette";
import { theme } from "../state";
import { Icon } from "../ui/icons";
import { Table, type Column } from "../ui/table";
import { fitSelection } from "./input";
import { timeline } from "./model";
import { lanePath } from "./tree";

type View = "selection" | "in-view";
const LEAST_HEIGHT = 90;
const HINT = "Click a slice for its details and connections. Wheel zooms, drag moves, shift + drag marks an interval.";

export function Panel(): JSX.Element {
  const [view, setView] = useState<View>("selection");
  const [height, setHeight] = useState(232);
  // Without a selection there is one line to read: the lanes get the room.
  const { state, value } = timeline.selected.now.value;
  const idle = view === "selection" && value === null && state !== "error";
  const startDrag = (event: PointerEvent) => {
    const from = event.clientY;
    const move = (now: PointerEvent) =>
      setHeight(Math.min(window.innerHeight * 0.7, Math.max(LEAST_HEIGHT, height + from - now.clientY)));
    const up = () => {
      document.removeEventListener("pointermove", move);
      document.removeEventListener("pointerup", up);
    };
    document.addEventListener("pointermove", move);
    document.addEventListener("pointerup", up);
    event.preventDefault();
  };
  const onSplitterKey = (event: KeyboardEvent) => {
    const by = event.key === "ArrowUp" ? 24 : event.key === "ArrowDown" ? -24 : 0;
    if (by === 0) return;
    event.preventDefault();
    setHeight(Math.max(LEAST_HEIGHT, height + by));
  };
  return (
    <section class={`details${idle ? " idle" : ""}`} style={{ height: idle ? undefined : `${height}px` }} aria-label="Details">
      <div
        class="splitter"
        role="separator"
        aria-orientation="horizontal"
        aria-label="Height of the details"
        aria-valuenow={Math.round(height)}
        tabIndex={0}
        onPointerDown={startDrag}
        onKeyDown={onSplitterKey}
      />
      <div class="details-head">
        <div class="segmented" role="group" aria-label="Details">
          <button type="button" aria-pressed={view === "selection"} onClick={() => setView("selection")}>
            Selection
          </button>
          <button type="button" aria-pressed={view === "in-view"} onClick={() => setView("in-view")} data-testid="in-view">
            In view
          </button>
        </div>
        {view === "selection" && <SelectionActions />}
        {idle && <span class="faint">{state === "loading" ? "Loading the slice." : HINT}</span>}
      </div>
      {!idle && <div class="details-body">{view === "selection" ? <Selection /> : <InView />}</div>}
      <Announcer />
    </section>
  );
}

function SelectionActions(): JSX.Element | null {
  const slice = timeline.selected.now.value.value;
  const found = timeline.find.value;
  if (!slice) return null;
  const same = found?.name === slice.name ? found : null;
  return (
    <>
      <div class="buttons" role="group" aria-label="Slices of the same name">
        <button type="button" aria-label="Previous slice of the same name" title="Previous of the same name (P)" onClick={() => void timeline.stepFound(-1)}>
          <Icon shape="previous" />
        </button>
        <button type="button" aria-label="Next slice of the same name" title="Next of the same name (N)" onClick={() => void timeline.stepFound(1)}>
          <Icon shape="next" />
        </button>
      </div>
      <span class="faint">
        {same ? `${count(Math.max(0, same.rows.indexOf(slice.row)) + 1)} of ${count(same.count)} of this name` : "same name"}
      </span>
      <span class="spacer" />
      <button type="button" class="text-button" onClick={() => fitSelection(timeline)}>
        Zoom to it <kbd>F</kbd>
      </button>
      <button type="button" class="text-button" onClick={() => timeline.select(null)} aria-label="Clear the selection">
        <Icon shape="close" />
      </button>
    </>
  );
}

function Selection(): JSX.Element {
  const { state, value, detail } = timeline.selected.now.value;
  if (state === "error") return <p class="absent">{detail}</p>;
  return value ? <SliceDetails slice={value} /> : <></>;
}

function SliceDetails({ slice }: { slice: SliceAnswer }): JSX.Element {
  const kind = (KIND_NAMES as readonly string[]).indexOf(slice.kind.toLowerCase().replaceAll("_", " "));
  const zero = timeline.whole.value.t0;
  const start = slice.start - zero;
  const args = Object.entries(slice.args ?? {});
  return (
    <div class="slice" data-testid="slice-details" data-row={slice.row}>
      <div class="slice-facts">
        <h3 title={slice.name}>
          {kind >= 0 && <span class="swatch" style={{ background: kindColor(theme.value, kind) }} />}
          <span>
            <span data-testid="slice-name">{slice.name || "(unnamed)"}</span>{" "}
            <span class="faint">{slice.kind.toLowerCase().replaceAll("_", " ")}</span>
          </span>
        </h3>
        <dl class="pairs">
          <Pair label="Duration" value={duration(slice.dur)} more={exact(slice.dur)} testId="slice-duration" />
          <Pair
            label="Self"
            value={duration(slice.self)}
            more={slice.self !== null && slice.self < slice.dur ? `${((slice.self / slice.dur) * 100).toFixed(1)} % outside its children` : undefined}
          />
          <Pair label="Start" value={duration(start)} more={exact(start)} />
          <Pair label="At" value={clock(BigInt(slice.origin_ns) + BigInt(Math.round(slice.start)))} />
          <Pair label="Lane" value={lanePath(timeline.tree.value, slice.lane) || slice.lane_name} />
          {slice.step !== null && slice.step >= 0 && <Pair label="Step" value={count(slice.step)} />}
        </dl>
      </div>
      <div class="slice-args">
        <h4>Arguments</h4>
        {args.length === 0 ? (
          <p class="faint">None recorded.</p>
        ) : (
          <dl class="pairs mono">
            {args.map(([name, value]) => (
              <Pair key={name} label={name} value={argText(value)} />
            ))}
          </dl>
        )}
      </div>
      <div class="slice-links">
        <h4>
          Connections{slice.connections.length > 0 && <span class="faint"> {count(slice.connections.length)}</span>}
        </h4>
        {slice.connections.length === 0 ? (
          <p class="faint">None.</p>
        ) : (
          <ul>
            {slice.connections.slice(0, 200).map((to) => (
              <li key={`${to.type}-${to.row}`}>
                <Link to={to} />
              </li>
            ))}
            {slice.connections.length > 200 && <li class="faint">{plural(slice.connections.length - 200, "more connection")}</li>}
          </ul>
        )}
      </div>
    </div>
  );
}

/** Arguments are data of the trace: strings as they are, everything else as JSON. */
export function argText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function Pair({ label, value, more, testId }: { label: string; value: string; more?: string; testId?: string }): JSX.Element {
  return (
    <div>
      <dt>{label}</dt>
      <dd data-testid={testId}>
        {value}
        {more && more !== value && <span class="faint"> {more}</span>}
      </dd>
    </div>
  );
}

const LINK_LABELS: Record<Connection["type"], string> = {
  launch: "launched by",
  run: "runs as",
  forward: "forward of it",
  backward: "backward of it",
  operator: "from operator",
};

function Link({ to }: { to: Connection }): JSX.Element {
  return (
    <button
      type="button"
      class="link"
      data-testid={`connection-${to.type}`}
      title={`${to.name}\n${lanePath(timeline.tree.peek(), to.lane)}`}
      onClick={() => void timeline.jump(to.row, to)}
    >
      <span class="link-type">{LINK_LABELS[to.type] ?? to.type}</span>
      <span class="link-name">{to.name}</span>
      <span class="link-time">
        {duration(to.dur)}
        {to.latency !== null && <span class="faint" title="From the end of the launch to the start of the run"> after {duration(to.latency)}</span>}
      </span>
    </button>
  );
}

const MOST_IN_VIEW = 300;

interface Seen {
  row: number;
  lane: number;
  depth: number;
  name: string;
  kind: number;
  start: number;
  dur: number;
}

/** The longest single slices in view, and how many are merged beyond that. */
function slicesInView(): { seen: Seen[]; merged: number } {
  const range = timeline.range.value;
  const seen: Seen[] = [];
  let merged = 0;
  for (const lane of timeline.visibleLanes()) {
    const slices = timeline.tiles.detail.get(lane)?.slices;
    if (!slices) continue;
    for (let depth = 0; depth < slices.rows.length - 1; depth += 1) {
      for (let i = slices.rows[depth]; i < slices.rows[depth + 1]; i += 1) {
        const start = slices.start[i];
        const dur = slices.dur[i];
        if (start + dur < range.t0 || start > range.t1) continue;
        if (slices.count[i] > 1) merged += slices.count[i];
        else seen.push({ row: slices.row[i], lane, depth, name: slices.name[i], kind: slices.kind[i], start, dur });
      }
    }
  }
  seen.sort((a, b) => b.dur - a.dur);
  return { seen: seen.slice(0, MOST_IN_VIEW), merged };
}

/** The canvas as a table: for those who cannot see it, and to find the longest by name. */
function InView(): JSX.Element {
  const { value: found } = useComputed(() => {
    void timeline.drawn.value;
    void timeline.layout.value;
    void timeline.scroll.value;
    return slicesInView();
  });
  const { seen, merged } = found;
  const zero = timeline.whole.value.t0;
  const columns: Column[] = [
    { key: "name", label: "Slice", value: (i) => seen[i].name, hint: (i) => seen[i].name },
    { key: "kind", label: "Kind", width: 130, value: (i) => KIND_NAMES[seen[i].kind] ?? "other" },
    {
      key: "lane",
      label: "Lane",
      width: 220,
      value: (i) => timeline.tree.value.byId.get(seen[i].lane)?.info.name ?? "",
      hint: (i) => lanePath(timeline.tree.value, seen[i].lane),
    },
    { key: "start", label: "Start", numeric: true, value: (i) => seen[i].start, cell: (i) => duration(seen[i].start - zero), hint: (i) => exact(seen[i].start - zero) },
    { key: "duration", label: "Duration", numeric: true, value: (i) => seen[i].dur, cell: (i) => duration(seen[i].dur), hint: (i) => exact(seen[i].dur) },
  ];
  return (
    <div class="in-view">
      <p class="faint">
        The {plural(seen.length, "longest slice")} of the visible lanes in this interval
        {merged > 0 ? `; ${count(merged)} more are too small to tell apart at this zoom.` : "."}
      </p>
      <Table
        name="Slices in view"
        testId="in-view-slice"
        count={seen.length}
        columns={columns}
        initial={{ key: "duration", descending: true }}
        onOpen={(i) => void timeline.jump(seen[i].row, seen[i])}
        version={found}
      />
    </div>
  );
}

/** Tells the selection to screen readers. */
function Announcer(): JSX.Element {
  const slice = timeline.selected.now.value.value;
  const text = slice
    ? `${slice.name}, ${slice.kind}, ${duration(slice.dur)}, on ${slice.lane_name}, ${plural(slice.connections.length, "connection")}`
    : "";
  return (
    <p class="sr-only" aria-live="polite" data-testid="selection-live">
      {text}
    </p>
  );
}
