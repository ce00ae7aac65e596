// The operations that XLA compiled, those with the most time first.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { HloOperationRow } from "../api";
import { DEFINITIONS } from "../definitions";
import { count } from "../format";
import { Meter } from "../ui/meter";
import { Table, type Column } from "../ui/table";
import { tableHeight, time } from "./hot-columns";

/** `total`: the self time of all of them, listed or not. */
export function HloOperations({ rows, total }: { rows: HloOperationRow[]; total: number }): JSX.Element {
  const columns = useMemo(() => hloColumns(rows, total), [rows, total]);
  return (
    <Table
      name="HLO operations"
      testId="hlo-operation"
      count={rows.length}
      columns={columns}
      initial={{ key: "self", descending: true }}
      height={tableHeight(rows.length)}
      version={rows}
    />
  );
}

function hloColumns(rows: HloOperationRow[], total: number): Column[] {
  const share = (i: number) => (total > 0 ? rows[i].self_ns / total : null);
  return [
    {
      key: "name",
      label: "HLO operation",
      value: (i) => rows[i].op,
      hint: (i) => `${rows[i].op} of ${rows[i].program}`,
    },
    {
      key: "executions",
      label: "Executions",
      title: DEFINITIONS.hloExecutions,
      numeric: true,
      value: (i) => rows[i].executions,
      cell: (i) => count(rows[i].executions),
    },
    time("self", "Self", DEFINITIONS.hloSelf, (i) => rows[i].self_ns),
    {
      key: "share",
      label: "Share",
      title: "Self time, divided by that of all HLO operations.",
      numeric: true,
      value: share,
      cell: (i) => <Meter ratio={share(i)} />,
    },
    time("total", "Total", "Sum of the durations of its runs.", (i) => rows[i].total_ns),
    time("mean", "Mean", "Self time divided by the number of executions.", (i) =>
      rows[i].executions > 0 ? rows[i].self_ns / rows[i].executions : null,
    ),
  ];
}
