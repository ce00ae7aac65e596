// What the viewport shows, in numbers, and its buttons.

import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { DASH, duration } from "../format";
import { kindColor } from "../palette";
import { KIND_NAMES, Kind } from "../kinds";
import { theme } from "../state";
import { Icon } from "../ui/icons";
import { fitSelection } from "./input";
import { timeline } from "./model";
import { tickLabel } from "./ruler";
import { span, zoomAt } from "./viewport";

function zoom(factor: number): void {
  const range = timeline.range.peek();
  timeline.setRange(zoomAt(range, timeline.whole.peek(), (range.t0 + range.t1) / 2, factor));
}

export function Toolbar({ onHelp }: { onHelp: () => void }): JSX.Element {
  const range = timeline.range.value;
  const whole = timeline.whole.value;
  const measure = timeline.measure.value;
  const canFit = measure !== null || timeline.selected.now.value.value !== null;
  const from = range.t0 - whole.t0;
  return (
    <div class="toolbar timeline-toolbar">
      <div class="buttons" role="group" aria-label="Zoom">
        <button type="button" title="Zoom in (W)" aria-label="Zoom in" onClick={() => zoom(0.5)}>
          <Icon shape="plus" />
        </button>
        <button type="button" title="Zoom out (S)" aria-label="Zoom out" onClick={() => zoom(2)}>
          <Icon shape="minus" />
        </button>
        <button type="button" title="Whole trace (0)" aria-label="Whole trace" onClick={() => timeline.showAll()}>
          <Icon shape="whole" />
        </button>
        <button
          type="button"
          title="Zoom to the selection (F)"
          aria-label="Zoom to the selection"
          disabled={!canFit}
          onClick={() => fitSelection(timeline)}
        >
          <Icon shape="fit" />
        </button>
      </div>
      <span class="readout" data-testid="timeline-range" data-t0={range.t0} data-t1={range.t1}>
        <b>{duration(span(range))}</b> from {from < 1 ? "the start" : tickLabel(from, Math.max(1, span(range) / 100))}
        <span class="faint"> of {duration(span(whole))}</span>
      </span>
      {measure && (
        <span class="readout marked" data-testid="timeline-measure">
          marked <b>{duration(span(measure))}</b>
        </span>
      )}
      <span class={`busy${timeline.loading.value ? " on" : ""}`} aria-hidden="true" />
      {timeline.problem.value && (
        <span class="problem" role="alert">
          {timeline.problem.value}
        </span>
      )}
      <span class="spacer" />
      <KindLegend />
      <button type="button" class="text-button" onClick={onHelp} title="Keys and mouse (?)">
        Keys <kbd>?</kbd>
      </button>
    </div>
  );
}

/** Kinds worth a place in the legend, in this order, as far as the visible lanes hold them. */
const LEGEND = [
  Kind.KERNEL,
  Kind.COLLECTIVE,
  Kind.MEMCPY,
  Kind.MEMSET,
  Kind.LAUNCH,
  Kind.RUNTIME,
  Kind.SYNC,
  Kind.OP,
  Kind.MODULE,
  Kind.PYTHON,
  Kind.ANNOTATION,
  Kind.DATALOADER,
  Kind.OVERHEAD,
];

function KindLegend(): JSX.Element | null {
  const text = useComputed(() => {
    void timeline.drawn.value;
    void timeline.layout.value;
    void timeline.scroll.value;
    const present = new Set<number>();
    for (const lane of timeline.visibleLanes()) {
      const slices = (timeline.tiles.detail.get(lane) ?? timeline.tiles.overview.get(lane))?.slices;
      if (slices) for (const kind of slices.kind) present.add(kind);
    }
    return LEGEND.filter((kind) => present.has(kind)).join();
  });
  if (!text.value) return null;
  return (
    <ul class="inline-legend" aria-label="Colours">
      {text.value.split(",").map((kind) => (
        <li key={kind}>
          <span class="swatch" style={{ background: kindColor(theme.value, Number(kind)) }} />
          {KIND_NAMES[Number(kind)] ?? DASH}
        </li>
      ))}
    </ul>
  );
}
