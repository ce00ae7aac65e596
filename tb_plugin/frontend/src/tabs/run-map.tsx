// The map of ranks and steps with its pointer, keys and tooltip.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import {
  AXIS,
  cellValue,
  drawMap,
  LABELS,
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
  rank: number;
  column: number;
}

export function RunMap(props: {
  steps: RunSteps;
  ranks: Ranks;
  scale: Scale;
  room: number; // pixels that the rows may take together
  onOpen: (rank: number) => void;
}): JSX.Element {
  const { steps, ranks, scale } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [at, setAt] = useState<Place | null>(null);
  const row = rowHeight(ranks.worker.length, props.room);
  const height = TOP + ranks.worker.length * row + AXIS;
  const shading = useMemo(() => shadingOf(steps.cells, steps.mean, scale), [steps, scale]);
  const now = theme.value;

  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const ctx = canvas.current && prepareCanvas(canvas.current, width, height);
    if (!ctx) return;
    drawMap(ctx, {
      width,
      row,
      theme: now,
      cells: steps.cells,
      mean: steps.mean,
      shading,
      names: ranks.rank.map((rank) => (rank === null ? "?" : String(rank))),
      ticks: steps.first.map((_, i) => stretchTick(steps, i)),
      at,
    });
  }, [width, height, now, steps, shading, ranks, at]);

  const columns = steps.mean.length;
  const last = ranks.worker.length - 1;
  const move = (event: PointerEvent) => {
    const column = Math.floor(((event.offsetX - LABELS) / Math.max(1, width - LABELS)) * columns);
    const rank = Math.floor((event.offsetY - TOP) / row);
    setAt(column >= 0 && column < columns && rank >= 0 && rank <= last ? { rank, column } : null);
  };
  const onKey = (event: KeyboardEvent) => {
    const by: Record<string, [number, number]> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
    };
    if (event.key === "Enter" && at) props.onOpen(at.rank);
    else if (event.key === "Escape") setAt(null);
    else if (by[event.key]) {
      const [down, right] = by[event.key];
      const from = at ?? { rank: -down, column: -right };
      const within = (value: number, most: number) => Math.max(0, Math.min(most, value));
      setAt({ rank: within(from.rank + down, last), column: within(from.column + right, columns - 1) });
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
        onClick={() => at && props.onOpen(at.rank)}
        onKeyDown={onKey}
      />
      {at && <Tip steps={steps} ranks={ranks} at={at} width={width} row={row} />}
      <p class="sr-only" role="status">
        {at && described(steps, ranks, at)}
      </p>
      <Key shading={shading} />
    </div>
  );
}

function described(steps: RunSteps, ranks: Ranks, { rank, column }: Place): string {
  return `${rankName(ranks, rank)}, ${stretchName(steps, column)}: ${duration(steps.cells[rank][column])}`;
}

function Tip(props: { steps: RunSteps; ranks: Ranks; at: Place; width: number; row: number }): JSX.Element {
  const { steps, ranks, at, width } = props;
  const x = LABELS + ((at.column + 0.5) / steps.mean.length) * (width - LABELS);
  const left = x > width - 260;
  const value = steps.cells[at.rank][at.column];
  const beyond = cellValue(value, steps.mean[at.column], "share");
  return (
    <div
      class="tip"
      style={{
        left: left ? undefined : `${x + 14}px`,
        right: left ? `${width - x + 14}px` : undefined,
        top: `${TOP + at.rank * props.row + 14}px`,
      }}
    >
      <div class="tip-title">
        <bdi>{rankName(ranks, at.rank)}</bdi>, {stretchName(steps, at.column)}
      </div>
      <dl>
        <div>
          <dt>{measureLabel(steps.of)}</dt>
          <dd>{value === null ? "not measured" : duration(value)}</dd>
        </div>
        <div>
          <dt>Mean of all</dt>
          <dd>{duration(steps.mean[at.column])}</dd>
        </div>
        {beyond !== null && (
          <div>
            <dt>Difference</dt>
            <dd>
              {beyond > 0 ? "+" : ""}
              {percent(beyond)}
            </dd>
          </div>
        )}
      </dl>
      <p class="tip-note">Click to open this worker.</p>
    </div>
  );
}

/** What the colours mean. */
function Key({ shading }: { shading: Shading }): JSX.Element {
  const text = (value: number) => (shading.scale === "absolute" ? duration(value) : percent(value));
  const colors = shades(theme.value, shading.scale);
  return (
    <p class="map-key">
      {text(shading.low)}
      <span class="map-ramp" style={{ background: `linear-gradient(to right, ${colors.join(", ")})` }} />
      {shading.high > 0 && shading.scale === "share" ? "+" : ""}
      {text(shading.high)}
      <span class="faint">
        {shading.scale === "share" ? "against the mean of all workers in the same step; " : ""}blank: not measured
      </span>
    </p>
  );
}

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
