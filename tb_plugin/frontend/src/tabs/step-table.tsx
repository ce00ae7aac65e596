// The steps as a table: every number of the bars, exact in the tooltips.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { DEFINITIONS, NOT_MEASURED } from "../definitions";
import { count, exact, milliseconds } from "../format";
import type { Steps } from "../steps";
import { Table, type Column } from "../ui/table";
import { openStep } from "./open-step";
import type { Part } from "./step-parts";

export function StepTable({ all, rows, parts }: { all: Steps; rows: number[]; parts: Part[] }): JSX.Element {
  const columns = useMemo<Column[]>(() => {
    const time = (key: string, label: string, title: string, values: (number | null)[]): Column => ({
      key,
      label,
      title: `${title} In ms.`,
      numeric: true,
      value: (i) => values[rows[i]],
      cell: (i) => milliseconds(values[rows[i]]),
      hint: (i) => (values[rows[i]] === null ? NOT_MEASURED : exact(values[rows[i]])),
    });
    const first = all.start[0] ?? 0;
    return [
      {
        key: "id",
        label: "Step",
        width: 76,
        numeric: true,
        value: (i) => all.id[rows[i]],
        cell: (i) => count(all.id[rows[i]]),
        hint: (i) => all.label[rows[i]] ?? "",
      },
      {
        key: "label",
        label: "Marker",
        width: 140,
        value: (i) => all.label[rows[i]],
        cell: (i) => (
          <>
            {all.label[rows[i]] ?? ""}
            {!all.complete[rows[i]] && <span class="tag">incomplete</span>}
            {all.inferred[rows[i]] && <span class="tag">inferred</span>}
          </>
        ),
        hint: (i) => all.label[rows[i]] ?? "",
      },
      {
        key: "start",
        label: "Start",
        title: "Since the first step began.",
        numeric: true,
        value: (i) => all.start[rows[i]],
        cell: (i) => `${((all.start[rows[i]] - first) / 1e9).toFixed(3)} s`,
      },
      time("duration", "Duration (ms)", DEFINITIONS.stepDuration, all.duration),
      time("host", "Host", DEFINITIONS.stepHost, all.host),
      ...parts.map((part) => time(part.key, part.label, part.title, part.values)),
    ];
  }, [all, rows, parts]);
  return (
    <Table
      name="Steps"
      testId="step"
      count={rows.length}
      columns={columns}
      initial={{ key: "id", descending: false }}
      onOpen={(i) => openStep(all.origin, all, rows[i])}
      version={rows}
    />
  );
}
