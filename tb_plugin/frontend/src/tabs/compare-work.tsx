// Kernels, operators and modules of both workers, joined by name; modules also level by level.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { count, DASH, digits, duration, exact, plural } from "../format";
import { JOINED, type Joined } from "../hash";
import { brief } from "../names";
import { adjust, navigate, part } from "../state";
import { Mid } from "../table/mid";
import { Card } from "../ui/card";
import { signed } from "../ui/delta";
import { Icon } from "../ui/icons";
import { Absent } from "../ui/states";
import { ROW_HEIGHT, Table, type Column } from "../ui/table";
import { Toggle } from "../ui/toggle";
import { DifferenceLine } from "./compare-line";
import type { ComparedWork, Comparison, JoinedRow } from "./compare-requests";
import { levelOf, type Step } from "./compare-tree";

const LABELS: Record<Joined, string> = {
  kernels: "Kernels",
  operators: "Operators",
  modules: "Modules",
  tree: "Module tree",
};
const MOST_ROWS = 20; // before the table scrolls
const joined = part("joined");
const within = part("within");

export function WorkTable({ found }: { found: Comparison }): JSX.Element {
  const [text, setText] = useState("");
  const of = joined.value ?? JOINED.find((one) => workOf(found, one).why === null) ?? "kernels";
  const whole = workOf(found, of);
  const path = within.value;
  const { way, level: work } = useMemo(
    () =>
      of === "tree" && whole.why === null ? levelOf(found.module_tree, path, whole.basis) : { way: [], level: whole },
    [found, of, path],
  );
  const rows = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    return work.rows.filter((row) => row.name.toLowerCase().includes(wanted));
  }, [work, text]);
  const columns = useMemo(() => columnsOf(rows, of), [rows, of]);
  return (
    <>
      <Card
        title="What differs"
        definition={
          of === "tree"
            ? "Times and counts of the deep windows, divided by the steps captured in depth: of each module with all its parts. A level sums to the module that it is of."
            : "Times and counts of the deep windows, divided by the steps captured in depth. Self times: nothing counts twice."
        }
        basis={work.why ? undefined : basisOf(work, of === "tree" ? "module" : "name")}
        testId="compare-work"
        isTable
        data={work.why ? undefined : () => dataOf(work, rows)}
        actions={
          <>
            <Toggle
              label="What to join"
              value={of}
              choices={JOINED.map((one) => ({
                value: one,
                label: LABELS[one],
                off: one !== of && (workOf(found, one).why ?? false),
              }))}
              onChoose={(value) => adjust({ joined: value as Joined })}
            />
            <label class="search-box">
              <Icon shape="search" />
              <input
                type="search"
                placeholder="Filter by name"
                aria-label="Filter by name"
                data-testid="compare-filter"
                value={text}
                onInput={(event) => setText(event.currentTarget.value)}
              />
            </label>
          </>
        }
      >
        {work.why ? (
          <Absent>{work.why}</Absent>
        ) : (
          <>
            {of === "tree" && <Way steps={way} />}
            <Table
              name={LABELS[of]}
              testId="compare-work-row"
              count={rows.length}
              columns={columns}
              initial={{ key: "", descending: true }} // as sent: the largest difference first
              height={(Math.min(Math.max(rows.length, 1), MOST_ROWS) + 1) * ROW_HEIGHT + 4}
              version={rows}
              onOpen={of === "tree" ? (row) => open(rows[row], () => setText("")) : undefined}
            />
            {rows.length === 0 && <Absent>No listed name holds this text.</Absent>}
          </>
        )}
      </Card>
      {rows.some((row) => row.difference_ns !== 0) && <DifferenceLine work={work} rows={rows} of={LABELS[of]} />}
    </>
  );
}

/** The tree is of the same modules as their list. */
const workOf = (found: Comparison, of: Joined) => found.work[of === "tree" ? "modules" : of];

function open({ level }: JoinedRow, done: () => void): void {
  if (!level?.opens) return;
  navigate({ joined: "tree", within: level.opens });
  done(); // a filter for this level would hide the next one
}

/** From the whole step to the module whose parts are listed. */
function Way({ steps }: { steps: readonly Step[] }): JSX.Element {
  const all = [{ name: "All modules", path: "" }, ...steps];
  return (
    <nav class="compare-way" aria-label="Path of the module" data-testid="compare-way">
      {all.map((step, i) => (
        <button
          key={step.path}
          type="button"
          class="text-button"
          aria-current={i === all.length - 1 ? "location" : undefined}
          onClick={() => navigate({ joined: "tree", within: step.path })}
        >
          <bdi>{step.name}</bdi>
        </button>
      ))}
    </nav>
  );
}

function basisOf(work: ComparedWork, name: string): string {
  const { rest } = work;
  const parts = [
    `${work.basis === "device" ? "Device" : "Host"} time a step, ${duration(work.a_ns)} in A and ${duration(work.b_ns)} in B`,
    `${plural(work.count, name)}, ${count(work.added)} only in B, ${count(work.removed)} only in A`,
  ];
  if (rest && rest.count > 0) {
    parts.push(
      `${plural(rest.count, "name")} of the least difference not listed, together ${signed(rest.difference_ns)}`,
    );
  }
  return parts.join("; ");
}

function columnsOf(rows: readonly JoinedRow[], of: Joined): Column[] {
  const time = (key: "a_ns" | "b_ns", label: string): Column => ({
    key,
    label,
    title: `Time a step of ${label}.`,
    numeric: true,
    value: (i) => rows[i][key],
    cell: (i) => (rows[i][key] === 0 ? "0" : duration(rows[i][key])),
    hint: (i) => exact(rows[i][key]),
  });
  const change = (key: "difference_ns" | "accumulated_ns", label: string, title: string): Column => ({
    key,
    label,
    title,
    numeric: true,
    value: (i) => rows[i][key],
    cell: (i) => <span class={rows[i][key] > 0 ? "more" : rows[i][key] < 0 ? "less" : ""}>{signed(rows[i][key])}</span>,
    hint: (i) => exact(rows[i][key]),
  });
  const calls = (key: "a_count" | "b_count", label: string): Column => ({
    key,
    label,
    title: "Runs or calls a step.",
    numeric: true,
    value: (i) => rows[i][key],
    cell: (i) => countText(rows[i][key]),
  });
  const own = (i: number) => rows[i].level?.self ?? 0;
  const self: Column = {
    key: "self",
    label: "Itself",
    title: "Difference of its self time, without its parts.",
    numeric: true,
    value: own,
    cell: (i) => <span class={own(i) > 0 ? "more" : own(i) < 0 ? "less" : ""}>{signed(own(i))}</span>,
    hint: (i) => exact(own(i)),
  };
  return [
    {
      key: "name",
      label: of === "tree" ? "Module" : LABELS[of].slice(0, -1),
      value: (i) => rows[i].name,
      cell: (i) =>
        rows[i].level?.opens ? (
          <span class="compare-opens">
            <bdi>{brief(rows[i].name)}</bdi>
          </span>
        ) : (
          <Mid text={brief(rows[i].name)} />
        ),
      hint: (i) => rows[i].name,
    },
    {
      key: "status",
      label: "In",
      title: "Which of the two has this name.",
      width: 70,
      value: (i) => ({ both: "A and B", added: "only B", removed: "only A" })[rows[i].status],
    },
    bars(rows),
    time("a_ns", "A"),
    time("b_ns", "B"),
    change("difference_ns", "B − A", "Time a step of B, less that of A."),
    change("accumulated_ns", "Accumulated", "Sum of the differences down to here, the largest first."),
    ...(of === "tree" ? [self] : []),
    calls("a_count", "Count A"),
    calls("b_count", "Count B"),
  ];
}

/** Both times as bars, on one scale for all rows. */
function bars(rows: readonly JoinedRow[]): Column {
  const longest = Math.max(...rows.flatMap((row) => [row.a_ns, row.b_ns]), 1);
  return {
    key: "bars",
    label: "A over B",
    title: "Time a step: above A, below B.",
    width: 110,
    value: (i) => Math.max(rows[i].a_ns, rows[i].b_ns),
    cell: (i) => (
      <span class="two-bars" aria-hidden="true">
        {[rows[i].a_ns, rows[i].b_ns].map((ns, side) => (
          <span key={side} style={{ width: `${(100 * ns) / longest}%` }} />
        ))}
      </span>
    ),
  };
}

const countText = (value: number | null) =>
  value === null ? DASH : Number.isInteger(value) ? count(value) : digits(value);

function dataOf(work: ComparedWork, rows: readonly JoinedRow[]) {
  const { rest } = work;
  return {
    columns: [
      { label: "Name", unit: "text" as const },
      { label: "In", unit: "text" as const },
      { label: "A", unit: "ns" as const },
      { label: "B", unit: "ns" as const },
      { label: "B - A", unit: "ns" as const },
      { label: "Accumulated", unit: "ns" as const },
      { label: "Count A", unit: "number" as const },
      { label: "Count B", unit: "number" as const },
    ],
    rows: [
      ...rows.map((row) => [
        row.name,
        row.status,
        row.a_ns,
        row.b_ns,
        row.difference_ns,
        row.accumulated_ns,
        row.a_count,
        row.b_count,
      ]),
      ...(rest && rest.count > 0
        ? [[`${rest.count} others`, "", rest.a_ns, rest.b_ns, rest.difference_ns, work.difference_ns, null, null]]
        : []),
    ],
  };
}
