// Every core of the host as a row of a map.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useCallback } from "preact/hooks";
import { drawHeat, heatColors, heatRow, type Plot } from "../charts/time-lines";
import { DEFINITIONS } from "../definitions";
import { percent, plural } from "../format";
import { theme } from "../state";
import { getCores, type CoreMap } from "../time/requests";
import { placeAt } from "../time/view";
import { Card, type CardData } from "../ui/card";
import { useFetched } from "../ui/fetched";
import { TimeCanvas, type TimeDesk } from "../ui/time-canvas";

const COLUMNS = 400;
const MOST_HEIGHT = 420; // pixels
const MOST_ROW = 16;

export function CoreMapCard({ desk }: { desk: TimeDesk }): JSX.Element | null {
  const { range } = desk;
  const found = useFetched(`cores ${range.t0} ${range.t1}`, (key, signal) => getCores(key, range, COLUMNS, signal));
  const cores = found.value?.cores.length ?? 0;
  if (!found.value || cores === 0) return null;
  return <Heat desk={desk} map={found.value} />;
}

function Heat({ desk, map }: { desk: TimeDesk; map: CoreMap }): JSX.Element {
  const pointed = useSignal<number | null>(null);
  const height = Math.max(30, Math.min(MOST_HEIGHT, map.cores.length * MOST_ROW)) + 24;
  const draw = useCallback(
    (plot: Plot) =>
      drawHeat(
        plot,
        map.cores.map(({ core, mean }) => ({ name: String(core), values: mean })),
        map.edges,
      ),
    [map],
  );
  return (
    <Card
      title="CPU cores"
      definition={DEFINITIONS.resources["CPU cores"]}
      basis={`${plural(map.cores.length, "core")} of the host`}
      data={() => coresData(map)}
      testId="resource-cores"
    >
      <TimeCanvas
        desk={desk}
        height={height}
        axis
        label={`Use of ${plural(map.cores.length, "core")} over time`}
        testId="chart-cores"
        draw={draw}
        onRow={(y) => (pointed.value = y === null ? null : heatRow(y, height, true, map.cores.length))}
      />
      <div class="heat-scale">
        <span>0 %</span>
        <span
          class="heat-ramp"
          aria-hidden="true"
          style={{ background: `linear-gradient(90deg, ${heatColors(theme.value).join(",")})` }}
        />
        <span>100 %</span>
        <Reading desk={desk} map={map} row={pointed.value} />
      </div>
    </Card>
  );
}

/** The core under the pointer; without one, the busiest at the cursor. */
function Reading({ desk, map, row }: { desk: TimeDesk; map: CoreMap; row: number | null }): JSX.Element | null {
  const at = desk.cursor.value ?? desk.moment;
  if (at === null) return null;
  const column = placeAt(map.edges, at);
  const values = map.cores.map(({ mean }) => mean[column] ?? null);
  const busy = values.filter((value) => value !== null && value > 0.9).length;
  return (
    <span data-testid="core-reading">
      {row !== null && (
        <>
          Core {map.cores[row].core}: <b>{percent(values[row])}</b> ·{" "}
        </>
      )}
      {busy} of {map.cores.length} above 90 %
    </span>
  );
}

function coresData(map: CoreMap): CardData {
  return {
    columns: [
      { label: "Core", unit: "id" },
      { label: "From", unit: "ns", title: "Since the beginning of the timeline." },
      { label: "Use", unit: "ratio", title: "Mean of the samples in the column." },
    ],
    rows: map.cores.flatMap(({ core, mean }) => mean.map((value, i) => [core, map.edges[i], value])),
  };
}
