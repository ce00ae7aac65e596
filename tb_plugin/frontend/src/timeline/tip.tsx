// The tooltip of the slice or the curve under the pointer.

import type { JSX } from "preact";
import { unitOf, valueText } from "../charts/time-lines";
import { count, duration, percent } from "../format";
import { KIND_NAMES } from "../kinds";
import { kindColor, seriesColor } from "../palette";
import { part, theme } from "../state";
import { valueAt, type Curve } from "./curves";
import { serverGroup } from "./coloring";
import { TOP } from "./scene";
import { placeOn, type SliceHit } from "./hit";
import { timeline } from "./model";
import { tickLabel } from "./ruler";
import { span } from "./viewport";

const coloring = part("color");

export function Tip(): JSX.Element | null {
  const hit = timeline.hover.value;
  const x = timeline.pointerX.value;
  if (x === null) return null;
  const y = timeline.pointerY.value;
  const body = hit ? <SliceTip hit={hit} /> : <CurveTip x={x} y={y} />;
  const left = x > timeline.width.value / 2;
  const up = y > (timeline.space.value + TOP) * 0.6;
  return (
    <div
      class="tip-anchor"
      style={{
        left: left ? undefined : `${x + 14}px`,
        right: left ? `${timeline.width.value - x + 14}px` : undefined,
        top: up ? undefined : `${y + 14}px`,
        bottom: up ? `${timeline.space.value + TOP - y + 10}px` : undefined,
      }}
    >
      {body}
    </div>
  );
}

function SliceTip({ hit }: { hit: SliceHit }): JSX.Element {
  const { slices, index } = hit;
  const n = slices.count[index];
  const start = slices.start[index] - timeline.whole.value.t0;
  const kind = slices.kind[index];
  return (
    <div class="tip" data-testid="timeline-tip">
      <div class="tip-title">{n > 1 ? `${count(n)} slices` : slices.name[index] || "(unnamed)"}</div>
      <dl>
        {n > 1 && (
          <div>
            <dt>Longest</dt>
            <dd class="clip">{slices.name[index]}</dd>
          </div>
        )}
        <div>
          <dt>{n > 1 ? "Together" : "Duration"}</dt>
          <dd>
            {duration(slices.dur[index])}
            {n > 1 && slices.dur[index] > 0 && (
              <span class="faint"> · busy {percent(Math.min(1, slices.busy[index] / slices.dur[index]))}</span>
            )}
          </dd>
        </div>
        <div>
          <dt>Start</dt>
          <dd>{tickLabel(start, Math.max(1, Math.min(slices.dur[index] || 1, span(timeline.range.value) / 1000)))}</dd>
        </div>
        {serverGroup(coloring.value, slices, index) && (
          <div>
            <dt>{coloring.value === "stream" ? "Stream" : "Module"}</dt>
            <dd class="clip">{serverGroup(coloring.value, slices, index)}</dd>
          </div>
        )}
        <div>
          <dt>Kind</dt>
          <dd>
            <span class="swatch" style={{ background: kindColor(theme.value, kind) }} />
            {KIND_NAMES[kind] ?? "other"}
          </dd>
        </div>
      </dl>
      {n > 1 && <p class="tip-note">Zoom in to see them one by one.</p>}
    </div>
  );
}

/** The definitions of curves, each once; of one that is not there why. */
function notesOf(curves: readonly Curve[]): string[] {
  const several = new Set(curves.map((curve) => curve.definition)).size > 1;
  const notes = curves.flatMap(({ series, definition, why }) => {
    if (why) return [`${series.label}: not measured, since ${why}.`];
    return definition ? [several ? `${series.label}: ${definition}` : definition] : [];
  });
  return [...new Set(notes)];
}

function CurveTip({ x, y }: { x: number; y: number }): JSX.Element | null {
  void timeline.drawn.value;
  const place = y < TOP ? null : placeOn(timeline.bands.value, y);
  if (place?.row.kind !== "counter") return null;
  const range = timeline.range.value;
  const t = range.t0 + (x / Math.max(1, timeline.width.value)) * span(range);
  const curves = timeline.curves.ofLane(place.row.node.info, range);
  if (curves.length === 0) return null;
  const { of_work } = place.row.node.info;
  const notes = notesOf(curves);
  const { meanNs } = curves[0];
  return (
    <div class="tip" data-testid="timeline-tip">
      <div class="tip-title">{place.row.node.info.name}</div>
      <dl>
        {curves.map(({ series, color, why }) => {
          const value = valueAt(series, t);
          const lacking = why ? "not measured" : of_work ? "not captured" : "not sampled";
          return (
            <div key={series.id}>
              <dt>
                <span class="swatch" style={{ background: seriesColor(theme.value, color) }} />
                {series.label}
              </dt>
              <dd>{value === null ? lacking : valueText(value, unitOf(series.unit, series.group))}</dd>
            </div>
          );
        })}
        {meanNs !== undefined && (
          <div>
            <dt>Mean over</dt>
            <dd>{duration(meanNs)}</dd>
          </div>
        )}
      </dl>
      {notes.map((note) => (
        <p class="tip-note" key={note}>
          {note}
        </p>
      ))}
    </div>
  );
}
