// Calls with which the host waits for a device, and the operators that make them.

import type { JSX } from "preact";
import type { Synchronisation } from "../api";
import { DEFINITIONS } from "../definitions";
import { count, duration, exact, plural } from "../format";
import { Card } from "../ui/card";
import { FirstOf, PlainTable } from "../ui/plain-table";

const MOST_ROWS = 6;

/** Nothing where the host never synchronised. */
export function SyncCalls({ data }: { data: Synchronisation | null }): JSX.Element | null {
  if (!data || data.calls.length === 0) return null;
  const rows = data.by_operator.slice(0, MOST_ROWS);
  const total = data.calls.reduce((sum, call) => sum + call.total_ns, 0);
  const calls = data.calls.reduce((sum, call) => sum + call.count, 0);
  return (
    <Card
      title="Synchronising calls"
      definition={DEFINITIONS.sync}
      basis={
        <span title={exact(total)}>
          {plural(calls, "call")}, {duration(total)} in all
        </span>
      }
      data={() => ({
        columns: [
          { label: "Call", unit: "text" },
          { label: "Made by", unit: "text", title: DEFINITIONS.syncOperator },
          { label: "Count", unit: "count", title: DEFINITIONS.count },
          { label: "Time", unit: "ns", title: "Sum of the durations." },
        ],
        rows: data.by_operator.map((row) => [row.name, row.operator, row.count, row.total_ns]),
      })}
      isTable
    >
      <PlainTable
        headings={[
          { label: "Call" },
          { label: "Made by", title: DEFINITIONS.syncOperator, isText: true },
          { label: "Count", title: DEFINITIONS.count },
          { label: "Time", title: "Sum of the durations." },
        ]}
        testId="sync-calls"
      >
        {rows.map((row, i) => (
          <tr key={i}>
            <th scope="row" class="clip" title={row.name}>
              {row.name}
            </th>
            <td class="clip" title={row.operator ?? undefined}>
              {row.operator ?? <span class="faint">no operator</span>}
            </td>
            <td class="num">{count(row.count)}</td>
            <td class="num" title={exact(row.total_ns)}>
              {duration(row.total_ns)}
            </td>
          </tr>
        ))}
      </PlainTable>
      <FirstOf shown={rows.length} saved={data.by_operator.length} total={data.by_operator_count} />
    </Card>
  );
}
