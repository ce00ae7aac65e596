// The map of ranks and steps with its pointer, keys and tooltip.

import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import {
  AXIS,
  cellValue,
  drawMap,
  LABELS,
  medians,
  rowHeight,
  shades,
  shadingOf,
  TOP,
  type Scale,
  type Shading,
} from "../charts/rank-map";
import { duration, percent, plural } from "../format";
import { measureLabel, rankName, stretchName, stretchTick, type Ranks, type RunSteps, type RunSummary } from "../run";
import { theme } from "../state";
import { prepareCanvas } from "../ui/canvas";

interface Place {
  row: number;
  column: number;
}

export function RunMap(props: {
  steps: RunSteps;
  ranks: Ranks;
  rows: readonly number[]; // the workers shown, in this order
  scale: Scale;
  room: number; // pixels that the rows may take together
  onOpen: (rank: number) => void;
}): JSX.Element {
  const { steps, ranks, rows, scale } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [at, setAt] = useState<Place | null>(null);
  const row = rowHeight(rows.length, props.room);
  const height = TOP + rows.length * row + AXIS;
  const median = useMemo(() => medians(steps.cells, steps.mean.length), [steps]);
  const shading = useMemo(() => shadingOf(steps.cells, median, scale), [steps, median, scale]);
  const now = theme.value;

  useLayoutEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const ctx = canvas.current && prepareCanvas(canvas.current, width, height);
    if (!ctx) return;
    drawMap(ctx, {
      width,
      row,
      theme: now,
      cells: rows.map((i) => steps.cells[i]),
      median,
      shading,
      names: rows.map((i) => (ranks.rank[i] === null ? "?" : String(ranks.rank[i]))),
      ticks: steps.first.map((_, i) => stretchTick(steps, i)),
      at,
    });
  }, [width, height, now, steps, median, shading, ranks, rows, at]);

  const columns = steps.mean.length;
  const last = rows.length - 1;
  const move = (event: PointerEvent) => {
    const column = Math.floor(((event.offsetX - LABELS) / Math.max(1, width - LABELS)) * columns);
    const under = Math.floor((event.offsetY - TOP) / row);
    setAt(column >= 0 && column < columns && under >= 0 && under <= last ? { row: under, column } : null);
  };
  const onKey = (event: KeyboardEvent) => {
    const by: Record<string, [number, number]> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
    };
    if (event.key === "Enter" && at) props.onOpen(rows[at.row]);
    else if (event.key === "Escape") setAt(null);
    else if (by[event.key]) {
      const [down, right] = by[event.key];
      const from = at ?? { row: -down, column: -right };
      const within = (value: number, most: number) => Math.max(0, Math.min(most, value));
      setAt({ row: within(from.row + down, last), column: within(from.column + right, columns - 1) });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="rank-map">
      <canvas
        ref={canvas}
        style={{ height: `${height}px` }}
        tabIndex={0}
        role="application"
        aria-label={`${measureLabel(steps.of)} of ${plural(last + 1, "worker")} over ${plural(steps.count, "step")}. Arrow keys move, Enter opens the worker. The menu of this card shows the same numbers as a table.`}
        data-testid="rank-map"
        onPointerMove={move}
        onPointerLeave={() => setAt(null)}
        onBlur={() => setAt(null)}
        onClick={() => at && props.onOpen(rows[at.row])}
        onKeyDown={onKey}
      />
      {at && <Tip steps={steps} ranks={ranks} rank={rows[at.row]} at={at} median={median} width={width} height={row} />}
      <p class="sr-only" role="status">
        {at && described(steps, ranks, rows[at.row], at.column)}
      </p>
      <Key shading={shading} />
    </div>
  );
}

function described(steps: RunSteps, ranks: Ranks, rank: number, column: number): string {
  return `${rankName(ranks, rank)}, ${stretchName(steps, column)}: ${duration(steps.cells[rank][column])}`;
}

function Tip(props: {
  steps: RunSteps;
  ranks: Ranks;
  rank: number;
  at: Place;
  median: readonly (number | null)[];
  width: number;
  height: number; // of a row
}): JSX.Element {
  const { steps, ranks, rank, at, median, width } = props;
  const x = LABELS + ((at.column + 0.5) / steps.mean.length) * (width - LABELS);
  const left = x > width - 260;
  const value = steps.cells[rank][at.column];
  const beyond = cellValue(value, median[at.column], "share");
  return (
    <div
      class="tip"
      style={{
        left: left ? undefined : `${x + 14}px`,
        right: left ? `${width - x + 14}px` : undefined,
        top: `${TOP + at.row * props.height + 14}px`,
      }}
    >
      <div class="tip-title">
        <bdi>{rankName(ranks, rank)}</bdi>, {stretchName(steps, at.column)}
      </div>
      <dl>
        <div>
          <dt>{measureLabel(steps.of)}</dt>
          <dd>{value === null ? "not measured" : duration(value)}</dd>
        </div>
        <div>
          <dt>Median of all</dt>
          <dd>{duration(median[at.column])}</dd>
        </div>
        {beyond !== null && (
          <div>
            <dt>Difference</dt>
            <dd>{signedPercent(beyond)}</dd>
          </div>
        )}
      </dl>
      <p class="tip-note">Click to open this worker.</p>
    </div>
  );
}

const signedPercent = (ratio: number) => `${ratio < 0 ? "−" : "+"}${percent(Math.abs(ratio))}`;

/** What the colours mean. */
function Key({ shading }: { shading: Shading }): JSX.Element {
  const text = (value: number) => (shading.scale === "absolute" ? duration(value) : signedPercent(value));
  const colors = shades(theme.value, shading.scale);
  return (
    <p class="map-key">
      {text(shading.low)}
      <span class="map-ramp" style={{ background: `linear-gradient(to right, ${colors.join(", ")})` }} />
      {text(shading.high)}
      <span class="faint">
        {shading.scale === "share" ? "against the median worker in the same step; " : ""}blank: not measured
      </span>
    </p>
  );
}

/** All workers, by rank. */
export const everyone = (run: RunSummary) => run.ranks.worker.map((_, i) => i);

/** The cells of a map, for its card. */
export function mapNumbers(steps: RunSteps, run: RunSummary) {
  return {
    columns: [
      { label: "Worker", unit: "text" as const },
      ...steps.first.map((_, i) => ({ label: stretchName(steps, i), unit: "ns" as const })),
    ],
    rows: steps.cells.map((cells, i) => [rankName(run.ranks, i), ...cells]),
  };
}
