// Slack, stall and needed bandwidth of collectives: what tables of them share.

import type { JSX } from "preact";
import type { CollectiveRow, SlackFrom } from "../api";
import { DEFINITIONS, NOT_MEASURED } from "../definitions";
import { count, duration, exact, rate } from "../format";
import type { CardData } from "../ui/card";
import type { Heading } from "../ui/plain-table";

type Row = Pick<
  CollectiveRow,
  "device" | "count" | "bytes" | "slack_ns" | "slack_known" | "slack_from" | "stall_ns" | "in_slack"
>;

const FROM: Record<SlackFrom, string> = {
  operations: "from the operations of the core",
  records: "from records of the waits of streams",
  calls: "at least this: which stream waits for what is not recorded, the first wait behind the launch counts",
  order: "at least this: no waits are recorded, all work launched behind it may wait for it",
};

export const SLACK_COLUMNS: CardData["columns"] = [
  { label: "Slack", unit: "ns", title: DEFINITIONS.slack },
  { label: "Slack from", unit: "text" },
  { label: "Stall", unit: "ns", title: DEFINITIONS.stall },
  { label: "Runs within their slack", unit: "count" },
];

export const slackValues = (row: Row) => [row.slack_ns, row.slack_from, row.stall_ns, row.in_slack];

/** What is to be said of all slacks below a table; null where there is none or they are exact. */
export function slackNote(rows: readonly Row[]): string | null {
  const bounds = rows.some((row) => row.slack_from === "calls" || row.slack_from === "order");
  return bounds
    ? "Slack at least and stall at most this: the trace does not record which stream waits for what."
    : null;
}

/** How many there were, how long they took, and how long nothing waited for them. */
export const TIME_HEADINGS: readonly Heading[] = [
  { label: "Count", title: DEFINITIONS.count },
  { label: "Time", title: DEFINITIONS.collectiveTime },
  { label: "Exposed", title: DEFINITIONS.exposed },
  { label: "Slack", title: DEFINITIONS.slack },
  { label: "Stall", title: DEFINITIONS.stall },
];

export const NEEDED_HEADING: Heading = { label: "Needed", title: DEFINITIONS.neededBandwidth };

export function SlackCells({ row }: { row: Row }): JSX.Element {
  const unknown = `${NOT_MEASURED}: ${row.device ? "nothing in the trace tells what waits for it" : "it ran on the host"}`;
  const of = `${count(row.slack_known)} of ${count(row.count)} runs`;
  const slack =
    row.slack_ns === null || row.slack_from === null
      ? unknown
      : `${exact(row.slack_ns)} in ${of}, ${FROM[row.slack_from]}; ${count(row.in_slack)} took no longer than it`;
  return (
    <>
      <td class="num" title={slack} data-value={row.slack_ns ?? undefined}>
        {duration(row.slack_ns)}
      </td>
      <td
        class="num"
        title={row.stall_ns === null ? unknown : `${exact(row.stall_ns)} in ${of}`}
        data-value={row.stall_ns ?? undefined}
      >
        {duration(row.stall_ns)}
      </td>
    </>
  );
}

export function NeededCell({ row, needed }: { row: Row; needed: number | null }): JSX.Element {
  const why =
    row.slack_ns === null
      ? `${NOT_MEASURED}: the slack is not known`
      : row.bytes === null
        ? "Needs the sizes of the messages"
        : "No bandwidth hides it: something waits for it from its begin on";
  return (
    <td class="num" title={needed === null ? why : DEFINITIONS.neededBandwidth} data-value={needed ?? undefined}>
      {rate(needed)}
    </td>
  );
}
