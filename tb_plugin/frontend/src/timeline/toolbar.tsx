// The buttons above the timeline, and what the viewport shows in numbers.

import { computed, useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { DASH, duration, plural } from "../format";
import { COLORINGS, type Coloring } from "../hash";
import { colorIndex, kindColor, slicePalette } from "../palette";
import { KIND_NAMES, Kind, PHASE_LABELS, PHASES } from "../kinds";
import { adjust, part, theme } from "../state";
import { Icon } from "../ui/icons";
import { groupsIn } from "./coloring";
import type { LaneSlices } from "./decode";
import { ExportMenu } from "./export-menu";
import { fitSelection } from "./input";
import { focusCanvas } from "./lane-filter";
import { timeline } from "./model";
import { tickLabel } from "./ruler";
import { SearchBox } from "./search-box";
import { span, zoomAt } from "./viewport";

export const STEP_FIELD = "timeline-step";

function zoom(factor: number): void {
  const range = timeline.range.peek();
  timeline.setRange(zoomAt(range, timeline.whole.peek(), (range.t0 + range.t1) / 2, factor));
}

const arrows = part("arrows");
const coloring = part("color");
const compared = part("compare");

export function Toolbar(props: {
  onHelp: () => void;
  exporting: boolean;
  onExport: (open: boolean) => void;
}): JSX.Element {
  const all = arrows.value === "all";
  return (
    <>
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
            title="Zoom to the marked interval or the selection, again: to all (F)"
            aria-label="Zoom to the selection"
            onClick={() => fitSelection(timeline)}
          >
            <Icon shape="fit" />
          </button>
        </div>
        <StepField />
        <Readout />
        <span class={`busy${timeline.loading.value ? " on" : ""}`} aria-hidden="true" />
        <span class="spacer" />
        <SearchBox />
        <button
          type="button"
          class="text-button"
          aria-pressed={all}
          title={`${all ? "Arrows of the selected slice only" : "All arrows between the visible lanes"} (X)`}
          data-testid="arrows"
          onClick={() => timeline.desk.toggleArrows()}
        >
          Arrows
        </button>
        <ExportMenu open={props.exporting} onToggle={props.onExport} />
        <button type="button" class="text-button" onClick={props.onHelp} title="Keys and mouse (?)">
          Keys <kbd>?</kbd>
        </button>
      </div>
      <div class="timeline-strip">
        <label class="faint">
          Colour{" "}
          <select
            class="plain-select"
            value={coloring.value}
            title="Colour by (C)"
            data-testid="coloring"
            onChange={(event) => {
              adjust({ color: event.currentTarget.value as Coloring });
              focusCanvas();
            }}
          >
            {COLORINGS.map((mode) => (
              <option key={mode} value={mode}>
                {mode}
              </option>
            ))}
          </select>
        </label>
        <Legend />
        <span class="spacer" />
        <Problem />
        <Arrows />
        <CompareField />
      </div>
    </>
  );
}

/** The visible interval. A component of its own: while one moves only this is rendered again. */
function Readout(): JSX.Element {
  const range = timeline.range.value;
  const whole = timeline.whole.value;
  const isAll = range.t0 <= whole.t0 && range.t1 >= whole.t1;
  const from = tickLabel(Math.max(0, range.t0 - whole.t0), Math.max(1, span(range) / 100));
  return (
    <span class="readout" data-testid="timeline-range" data-t0={range.t0} data-t1={range.t1}>
      {isAll ? (
        <>
          all <b>{duration(span(whole))}</b>
        </>
      ) : (
        <>
          <b>{duration(span(range))}</b> from {from}
          <span class="faint"> of {duration(span(whole))}</span>
        </>
      )}
    </span>
  );
}

/** The number of the step in the middle of the view. */
const stepInView = computed(() => {
  const steps = timeline.answer.value?.steps;
  const { t0, t1 } = timeline.range.value;
  const at = timeline.stepAt((t0 + t1) / 2);
  return at < 0 ? null : (steps?.id[at] ?? null);
});

function Problem(): JSX.Element | null {
  const text = timeline.notice.value || timeline.problem.value;
  if (!text) return null;
  return (
    <>
      <span class="problem" role="alert" title={text}>
        {text}
      </span>
      {timeline.notice.value && (
        <button type="button" class="note-button" onClick={() => (timeline.notice.value = "")}>
          Dismiss
        </button>
      )}
    </>
  );
}

/** Step by step, or to the step of a number. */
function StepField(): JSX.Element | null {
  const [bad, setBad] = useState(false);
  const steps = timeline.answer.value?.steps;
  if (!steps || steps.start.length === 0) return null;
  const shown = String(stepInView.value ?? "");
  return (
    <div class="buttons step-field" role="group" aria-label="Steps">
      <button type="button" title="Previous step ([)" aria-label="Previous step" onClick={() => timeline.moveStep(-1)}>
        <Icon shape="previous" />
      </button>
      <label>
        <span class="faint">Step</span>
        <input
          id={STEP_FIELD}
          type="text"
          inputMode="numeric"
          value={shown}
          aria-label="Go to step"
          aria-invalid={bad}
          title={bad ? "There is no step of this number" : "Go to step (G)"}
          data-testid="step-field"
          onFocus={(event) => event.currentTarget.select()}
          onInput={() => setBad(false)}
          onBlur={(event) => {
            event.currentTarget.value = shown;
            setBad(false);
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter") {
              const found = timeline.goToStep(Number(event.currentTarget.value.replace(/[^\d-]/g, "") || NaN));
              setBad(!found);
              if (found) focusCanvas();
            } else if (event.key === "Escape") {
              event.currentTarget.value = shown;
              focusCanvas();
            } else return;
            event.preventDefault();
            event.stopPropagation();
          }}
        />
      </label>
      <button type="button" title="Next step (])" aria-label="Next step" onClick={() => timeline.moveStep(1)}>
        <Icon shape="next" />
      </button>
    </div>
  );
}

/** How many arrows there are where not all are drawn. */
function Arrows(): JSX.Element | null {
  const flows = timeline.flows.value;
  if (!flows) return null;
  const drawn = flows.type.length;
  return (
    <span class="faint" data-testid="arrow-count" data-value={flows.count}>
      {drawn < flows.count ? `${drawn.toLocaleString("en-US")} of ` : ""}
      {plural(flows.count, "arrow")}
    </span>
  );
}

/** What a comparison is aligned by. */
function CompareField(): JSX.Element | null {
  const compare = compared.value;
  const steps = timeline.answer.value?.steps;
  if (!compare || !steps) return null;
  const here = stepInView.value ?? steps.id[0] ?? null;
  return (
    <span class="compare-field" data-testid="compare-field">
      <span class="faint">Ranks aligned</span>
      <button
        type="button"
        class="note-button"
        aria-pressed={compare.step !== null}
        disabled={here === null}
        title="Align the beginning of the step in the middle of the view"
        onClick={() => adjust({ compare: { ...compare, step: here } })}
      >
        {compare.step === null ? "by step" : `at step ${compare.step}`}
      </button>
      <button
        type="button"
        class="note-button"
        aria-pressed={compare.step === null}
        title="Align by the clocks of the hosts"
        onClick={() => adjust({ compare: { ...compare, step: null } })}
      >
        by clock
      </button>
      <button type="button" class="note-button" onClick={() => timeline.desk.toggleCompare(compare.lane)}>
        End
      </button>
    </span>
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
const MOST_GROUPS = 12;

function Legend(): JSX.Element | null {
  const found = useComputed(() => {
    void timeline.drawn.value;
    void timeline.bands.value;
    const mode = coloring.value;
    const lanes: LaneSlices[] = [];
    for (const lane of timeline.visibleLanes()) {
      const slices = (timeline.tiles.detail.get(lane) ?? timeline.tiles.overview.get(lane))?.slices;
      if (slices) lanes.push(slices);
    }
    if (mode !== "kind") {
      return JSON.stringify(groupsIn(lanes, mode, MOST_GROUPS).map(({ group, color }) => [group, color]));
    }
    const present = new Set<number>();
    const phases = new Set<string>();
    for (const slices of lanes) {
      for (let i = 0; i < slices.kind.length; i += 1) {
        present.add(slices.kind[i]);
        if (slices.kind[i] === Kind.PHASE) phases.add(slices.name[i]);
      }
    }
    const known = PHASES.filter((phase) => phases.has(phase));
    return JSON.stringify([
      ...known.map((phase) => [PHASE_LABELS[phase], colorIndex(Kind.PHASE, phase)]),
      ...LEGEND.filter((kind) => present.has(kind)).map((kind) => [capital(KIND_NAMES[kind] ?? DASH), -kind - 1]),
    ]);
  });
  const entries = JSON.parse(found.value) as [string, number][];
  if (entries.length === 0) {
    return coloring.value === "kind" ? null : <span class="faint">No {coloring.value} is told here.</span>;
  }
  const fills = slicePalette(theme.value);
  return (
    <ul class="inline-legend" aria-label="Colours">
      {entries.map(([label, color]) => (
        <li key={label} title={label}>
          <span class="swatch" style={{ background: color < 0 ? kindColor(theme.value, -color - 1) : fills[color] }} />
          <span class="legend-name">{label.replace(/^nn\.Module: /, "")}</span>
        </li>
      ))}
    </ul>
  );
}

/** As the phases beside it have. */
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
