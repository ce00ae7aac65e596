// The collectives of all workers: how long they take, what waits for them, what bandwidth they get and would need.

import type { JSX } from "preact";
import { DEFINITIONS, NOT_MEASURED } from "../definitions";
import { bytes, count, duration, exact, plural, rate } from "../format";
import type { RunCollective, RunSummary } from "../run";
import { openWorker } from "../state";
import { Card } from "../ui/card";
import { FirstOf, PlainTable } from "../ui/plain-table";
import { NEEDED_HEADING, NeededCell, SLACK_COLUMNS, SlackCells, slackNote, slackValues, TIME_HEADINGS } from "./slack";

const MOST_ROWS = 12;
const BANDWIDTH =
  "The largest of the workers' bandwidths: that of the worker that waited least for others. Of the bus where the size of the group is known, else of the algorithm.";

/** Nothing where no worker communicated in its deep windows. */
export function RunCollectives({ run }: { run: RunSummary }): JSX.Element | null {
  const rows = run.across_workers?.collectives ?? [];
  if (rows.length === 0) return null;
  const note = slackNote(rows);
  return (
    <Card
      title="Collectives of all workers"
      definition="Sums over the workers, in their deep windows."
      data={() => ({
        columns: [
          { label: "Collective", unit: "text" },
          { label: "Group", unit: "text" },
          { label: "Ranks", unit: "count" },
          { label: "Workers", unit: "count" },
          { label: "Count", unit: "count", title: DEFINITIONS.count },
          { label: "Time", unit: "ns", title: DEFINITIONS.collectiveTime },
          { label: "Exposed", unit: "ns", title: DEFINITIONS.exposed },
          ...SLACK_COLUMNS,
          { label: "Stalls most", unit: "text" },
          { label: "Messages", unit: "bytes", title: DEFINITIONS.messageBytes },
          { label: "Algorithm bandwidth", unit: "bytes_per_s", title: BANDWIDTH },
          { label: "Bus bandwidth", unit: "bytes_per_s", title: BANDWIDTH },
          { label: "Needed algorithm bandwidth", unit: "bytes_per_s", title: DEFINITIONS.neededBandwidth },
          { label: "Needed bus bandwidth", unit: "bytes_per_s", title: DEFINITIONS.neededBandwidth },
        ],
        rows: rows.map((row) => [
          row.name,
          row.group,
          row.group_size,
          row.workers,
          row.count,
          row.total_ns,
          row.exposed_ns,
          ...slackValues(row),
          row.most_stalled,
          row.bytes,
          row.algbw_bytes_per_s,
          row.busbw_bytes_per_s,
          row.needed_algbw_bytes_per_s,
          row.needed_busbw_bytes_per_s,
        ]),
      })}
      isTable
    >
      <PlainTable
        headings={[
          { label: "Collective" },
          { label: "Workers", title: "Workers that ran it." },
          ...TIME_HEADINGS,
          { label: "Stalls most", title: "The worker with the longest mean stall a run.", isText: true },
          { label: "Messages", title: DEFINITIONS.messageBytes },
          { label: "Bandwidth", title: BANDWIDTH },
          NEEDED_HEADING,
        ]}
        kind="spaced"
        testId="run-collectives"
      >
        {rows.slice(0, MOST_ROWS).map((row, i) => (
          <Collective key={i} row={row} run={run} />
        ))}
      </PlainTable>
      {note && <p class="chart-note">{note}</p>}
      <FirstOf shown={MOST_ROWS} saved={rows.length} total={rows.length} />
    </Card>
  );
}

function Collective({ row, run }: { row: RunCollective; run: RunSummary }): JSX.Element {
  const where = [row.group, row.group_size !== null && plural(row.group_size, "rank"), !row.device && "on the host"]
    .filter(Boolean)
    .join(", ");
  const { most_stalled: most } = row;
  const speed = row.busbw_bytes_per_s ?? row.algbw_bytes_per_s;
  const rank = most === null ? null : (run.ranks.rank[run.ranks.worker.indexOf(most)] ?? null);
  return (
    <tr>
      <th scope="row" class="clip" title={where ? `${row.name}: ${where}` : row.name}>
        {row.name} {where && <span class="faint">{where}</span>}
      </th>
      <td class="num">{count(row.workers)}</td>
      <td class="num">{count(row.count)}</td>
      <td class="num" title={exact(row.total_ns)} data-value={row.total_ns}>
        {duration(row.total_ns)}
      </td>
      <td class="num" title={row.exposed_ns === null ? `${NOT_MEASURED}: it ran on the host` : exact(row.exposed_ns)}>
        {duration(row.exposed_ns)}
      </td>
      <SlackCells row={row} />
      <td>
        {most !== null && (
          <button type="button" class="inline-link" title={`Open ${most}`} onClick={() => openWorker(run.run, most)}>
            {rank === null ? most : `Rank ${rank}`}
          </button>
        )}
      </td>
      <td class="num">{bytes(row.bytes)}</td>
      <td class="num" title={speed === null ? "Needs the sizes of the messages" : BANDWIDTH}>
        {rate(speed)}
        {speed !== null && <span class="faint"> {row.busbw_bytes_per_s === null ? "alg" : "bus"}</span>}
      </td>
      <NeededCell row={row} needed={row.needed_busbw_bytes_per_s ?? row.needed_algbw_bytes_per_s} />
    </tr>
  );
}
