// Communication between ranks: how much of it computation hides, and what each collective took.

import type { JSX } from "preact";
import type { CollectiveRow, Communication as CommunicationData } from "../api";
import { DEFINITIONS, NOT_MEASURED } from "../definitions";
import { bytes, count, duration, exact, rate } from "../format";
import { ACTIVITY_COLORS } from "../palette";
import { theme } from "../state";
import { StackedBar } from "../ui/bar";
import { Card, type CardData } from "../ui/card";
import { FirstOf, PlainTable } from "../ui/plain-table";
import { NEEDED_HEADING, NeededCell, SLACK_COLUMNS, SlackCells, slackNote, slackValues, TIME_HEADINGS } from "./slack";

const MOST_ROWS = 8;

/** Nothing where no collective is in the capture. */
export function Communication({ data }: { data: CommunicationData | null }): JSX.Element | null {
  if (!data || data.collectives.length === 0) return null;
  const { total_ns: total, collectives } = data;
  const shown = collectives.slice(0, MOST_ROWS);
  const colors = ACTIVITY_COLORS[theme.value];
  const parts = [
    { key: "exposed", label: "Exposed", title: DEFINITIONS.exposed, ns: data.exposed_ns, color: colors.communication },
    {
      key: "overlapped",
      label: "Overlapped",
      title: DEFINITIONS.overlapped,
      ns: data.overlapped_ns,
      color: colors.kernel,
    },
  ];
  return (
    <Card
      title="Communication"
      basis={
        total > 0
          ? `${duration(total)} with a collective on a device`
          : "On the host only: whether computation hid it is not known."
      }
      data={() => dataOf(collectives)}
      isTable
      wide
    >
      {total > 0 && (
        <StackedBar
          name="Communication"
          testId="communication"
          perStep={0}
          parts={parts.filter((part) => part.ns > 0).map((part) => ({ ...part, ratio: part.ns / total }))}
        />
      )}
      <PlainTable
        headings={[
          { label: "Collective" },
          ...TIME_HEADINGS,
          { label: "Messages", title: DEFINITIONS.messageBytes },
          { label: "Bandwidth", title: DEFINITIONS.bandwidth },
          NEEDED_HEADING,
        ]}
        kind="spaced"
        testId="collectives"
      >
        {shown.map((row, i) => (
          <Collective key={i} row={row} />
        ))}
      </PlainTable>
      {slackNote(collectives) && <p class="chart-note">{slackNote(collectives)}</p>}
      <FirstOf shown={shown.length} saved={collectives.length} total={data.collective_count} />
    </Card>
  );
}

function dataOf(rows: readonly CollectiveRow[]): CardData {
  return {
    columns: [
      { label: "Collective", unit: "text" },
      { label: "Group", unit: "text" },
      { label: "Ranks", unit: "count" },
      { label: "Count", unit: "count", title: DEFINITIONS.count },
      { label: "Time", unit: "ns", title: DEFINITIONS.collectiveTime },
      { label: "Exposed", unit: "ns", title: DEFINITIONS.exposed },
      ...SLACK_COLUMNS,
      { label: "Messages", unit: "bytes", title: DEFINITIONS.messageBytes },
      { label: "Algorithm bandwidth", unit: "bytes_per_s" },
      { label: "Bus bandwidth", unit: "bytes_per_s", title: DEFINITIONS.bandwidth },
      { label: "Needed algorithm bandwidth", unit: "bytes_per_s", title: DEFINITIONS.neededBandwidth },
      { label: "Needed bus bandwidth", unit: "bytes_per_s", title: DEFINITIONS.neededBandwidth },
    ],
    rows: rows.map((row) => [
      row.name,
      row.group_description ?? row.group,
      row.group_size,
      row.count,
      row.total_ns,
      row.exposed_ns,
      ...slackValues(row),
      row.bytes,
      row.algbw_bytes_per_s,
      row.busbw_bytes_per_s,
      row.needed_algbw_bytes_per_s,
      row.needed_busbw_bytes_per_s,
    ]),
  };
}

function Collective({ row }: { row: CollectiveRow }): JSX.Element {
  const group = row.group_description ?? row.group;
  const where = [group, row.group_size !== null && `${row.group_size} ranks`, !row.device && "on the host"]
    .filter(Boolean)
    .join(", ");
  const bus = row.busbw_bytes_per_s;
  const speed = bus ?? row.algbw_bytes_per_s;
  return (
    <tr>
      <th scope="row" class="clip" title={where ? `${row.name}: ${where}` : row.name}>
        {row.name} {where && <span class="faint">{where}</span>}
      </th>
      <td class="num">{count(row.count)}</td>
      <td class="num" title={`${exact(row.total_ns)}, the longest ${exact(row.max_ns)}`}>
        {duration(row.total_ns)}
      </td>
      <td class="num" title={row.exposed_ns === null ? `${NOT_MEASURED}: it ran on the host` : exact(row.exposed_ns)}>
        {duration(row.exposed_ns)}
      </td>
      <SlackCells row={row} />
      <td
        class="num"
        title={
          row.bytes === null
            ? "The trace does not tell the messages"
            : `${count(row.bytes)} bytes in ${count(row.bytes_known)} of ${count(row.count)} runs`
        }
      >
        {bytes(row.bytes)}
      </td>
      <td
        class="num"
        title={
          speed === null
            ? "Needs the sizes of the messages"
            : bus === null
              ? "Algorithm bandwidth; that of the bus needs the size of the group"
              : `Bus bandwidth; algorithm ${rate(row.algbw_bytes_per_s)}`
        }
      >
        {rate(speed)}
        {speed !== null && <span class="faint"> {bus === null ? "alg" : "bus"}</span>}
      </td>
      <NeededCell row={row} needed={row.needed_busbw_bytes_per_s ?? row.needed_algbw_bytes_per_s} />
    </tr>
  );
}
