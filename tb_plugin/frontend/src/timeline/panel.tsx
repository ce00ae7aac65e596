// The panel under the lanes: the selected slice with its connections, or the slices in view as a table.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { count, duration, percent, plural } from "../format";
import { Icon } from "../ui/icons";
import { InView } from "./in-view";
import { fitSelection } from "./input";
import { AreaPanel } from "./area-panel";
import { timeline, type PanelView } from "./model";
import { SliceDetails } from "./slice-details";
import { span } from "./viewport";

const LEAST_HEIGHT = 90;
const HINT = "Click a slice for its details and connections. Wheel zooms, drag moves, shift + drag marks an interval.";

export function Panel(): JSX.Element {
  const view = timeline.panel.value;
  const setView = (to: PanelView) => (timeline.panel.value = to);
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
    <section
      class={`details${idle ? " idle" : ""}`}
      style={{ height: idle ? undefined : `${height}px` }}
      aria-label="Details"
    >
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
          <button
            type="button"
            aria-pressed={view === "area"}
            disabled={timeline.measure.value === null}
            title={timeline.measure.value === null ? "Shift + drag marks an interval" : undefined}
            onClick={() => setView("area")}
            data-testid="area-tab"
          >
            Interval
          </button>
          <button
            type="button"
            aria-pressed={view === "in-view"}
            onClick={() => setView("in-view")}
            data-testid="in-view"
          >
            In view
          </button>
        </div>
        {view === "selection" && <SelectionActions />}
        {view === "area" && <AreaActions />}
        {idle && <span class="faint">{state === "loading" ? "Loading the slice." : HINT}</span>}
      </div>
      {!idle && (
        <div class="details-body">
          {view === "selection" ? <Selection /> : view === "area" ? <AreaPanel /> : <InView />}
        </div>
      )}
      <Announcer />
    </section>
  );
}

function AreaActions(): JSX.Element | null {
  const measure = timeline.measure.value;
  if (!measure) return null;
  return (
    <>
      <span class="readout" data-testid="timeline-measure">
        <b>{duration(span(measure))}</b>
      </span>
      <span class="spacer" />
      <button type="button" class="text-button" data-testid="zoom-here" onClick={() => timeline.setRange(measure)}>
        Zoom here <kbd>Z</kbd>
      </button>
      <button type="button" class="text-button" data-testid="open-steps" onClick={() => timeline.openArea()}>
        Open in step breakdown <kbd>B</kbd>
      </button>
      <button
        type="button"
        class="text-button"
        onClick={() => timeline.mark(null)}
        aria-label="Clear the marked interval"
      >
        <Icon shape="close" />
      </button>
    </>
  );
}

function SelectionActions(): JSX.Element | null {
  const slice = timeline.selected.now.value.value;
  const found = timeline.find.value;
  if (!slice) return null;
  const same = found?.name === slice.name ? found : null;
  const highlit = timeline.finder.text.value === slice.name && timeline.finder.rules.value.includes("e");
  return (
    <>
      <div class="buttons" role="group" aria-label="Slices of the same name">
        <button
          type="button"
          aria-label="Previous slice of the same name"
          title="Previous of the same name (P)"
          onClick={() => void timeline.stepFound(-1)}
        >
          <Icon shape="previous" />
        </button>
        <button
          type="button"
          aria-label="Next slice of the same name"
          title="Next of the same name (N)"
          onClick={() => void timeline.stepFound(1)}
        >
          <Icon shape="next" />
        </button>
      </div>
      <span class="faint">
        {same
          ? `${count(Math.max(0, same.rows.indexOf(slice.row)) + 1)} of ${count(same.count)} of this name`
          : "same name"}
      </span>
      <span class="spacer" />
      <button
        type="button"
        class="text-button"
        aria-pressed={highlit}
        data-testid="highlight"
        onClick={() => timeline.toggleHighlight()}
      >
        Highlight all <kbd>H</kbd>
      </button>
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

/** Tells the selection, and what keys did, to screen readers. */
function Announcer(): JSX.Element {
  const slice = timeline.selected.now.value.value;
  const statistics = timeline.panel.value === "area" ? timeline.statistics.now.value.value : null;
  const selection = slice
    ? `${slice.name}, ${slice.kind}, ${duration(slice.dur)}, on ${slice.lane_name}, ${plural(slice.connections.length, "connection")}`
    : "";
  const area = statistics
    ? `Interval of ${duration(statistics.span)}, ${plural(statistics.count, "slice")}, busy ${percent(statistics.span > 0 ? statistics.busy / statistics.span : null)}`
    : "";
  return (
    <>
      <p class="sr-only" aria-live="polite" data-testid="selection-live">
        {area || selection}
      </p>
      <p class="sr-only" aria-live="polite" data-testid="said">
        {timeline.said.value}
      </p>
    </>
  );
}
