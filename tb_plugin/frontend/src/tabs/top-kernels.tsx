// The kernels that take most of the time, and those that are launched most: k of them, and all others together.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { getTopKernels, type TopKernels as Answer } from "../dashboard/requests";
import { MOST_KERNELS } from "../dashboard/view";
import { count, duration, exact, percent, plural } from "../format";
import { brief } from "../names";
import { adjustDashboard, nav } from "../state";
import { halves } from "../table/cells";
import { Card, type CardData } from "../ui/card";
import { useFetched } from "../ui/fetched";
import { Await } from "../ui/states";
import { AndAllInTables } from "./all-in-tables";

type By = "time" | "count";

const TITLES: Record<By, string> = { time: "Time spent by kernels", count: "Launches of kernels" };
const ABOUT: Record<By, string> = {
  time: "Sum of the durations of all runs on the device, collectives included. Overlapping runs count each.",
  count: "Runs of kernels on the device, collectives included: how often each was launched.",
};
const MOST_BARS_SHOWN = 16; // before the list scrolls

/** Two cards: by time and by launches. */
export function TopKernels(): JSX.Element {
  return (
    <>
      <TopCard by="time" />
      <TopCard by="count" />
    </>
  );
}

function TopCard({ by }: { by: By }): JSX.Element {
  const k = nav.value.dashboard.kernels;
  const loaded = useFetched(`top kernels ${by} ${k}`, (key, signal) => getTopKernels(key, k, by, signal));
  const answer = loaded.value;
  return (
    <Card
      title={TITLES[by]}
      definition={ABOUT[by]}
      data={answer ? () => dataOf(answer) : undefined}
      testId={`top-${by}`}
      basis={answer && <Basis answer={answer} by={by} />}
      actions={<HowMany k={k} />}
    >
      <Await of={loaded} what="the kernels">
        {(value) => <Bars answer={value} by={by} />}
      </Await>
    </Card>
  );
}

function Basis({ answer, by }: { answer: Answer; by: By }): JSX.Element {
  const kernels = plural(answer.kernel_count ?? 0, "kernel");
  return by === "time" ? (
    <>
      <span title={exact(answer.total_ns)}>
        {duration(answer.total_ns)} in {plural(answer.runs ?? 0, "run")} of {kernels}
      </span>
      <AndAllInTables table="kernels" />
    </>
  ) : (
    <>
      {plural(answer.runs ?? 0, "run")} of {kernels}
      <AndAllInTables table="kernels" sort="count" />
    </>
  );
}

/** The number of kernels that are shown apart, in both cards. */
function HowMany({ k }: { k: number }): JSX.Element {
  return (
    <label class="how-many no-picture">
      top
      <input
        type="number"
        min={1}
        max={MOST_KERNELS}
        value={k}
        data-testid="top-k"
        onChange={(event) => {
          const wanted = Math.round(event.currentTarget.valueAsNumber);
          if (wanted >= 1) adjustDashboard({ kernels: Math.min(wanted, MOST_KERNELS) });
          else event.currentTarget.value = String(k);
        }}
      />
    </label>
  );
}

interface Row {
  name: string;
  value: number;
  ofAll: number | null;
  ofTop: number | null; // null for all others
  hint: string;
  rest: boolean;
}

function rowsOf(answer: Answer, by: By): Row[] {
  const all = (by === "time" ? answer.total_ns : answer.runs) ?? 0;
  const valueOf = (row: { total_ns: number; count: number }) => (by === "time" ? row.total_ns : row.count);
  const top = answer.top.reduce((sum, row) => sum + valueOf(row), 0);
  const rows: Row[] = answer.top.map((row) => ({
    name: row.name,
    value: valueOf(row),
    ofAll: all > 0 ? valueOf(row) / all : null,
    ofTop: top > 0 ? valueOf(row) / top : null,
    hint: `${row.name}\n${exact(row.total_ns)} in ${plural(row.count, "run")}, ${duration(row.mean_ns)} each`,
    rest: false,
  }));
  const { rest } = answer;
  if (rest && rest.kernels > 0) {
    rows.push({
      name: plural(rest.kernels, "other kernel"),
      value: valueOf(rest),
      ofAll: all > 0 ? valueOf(rest) / all : null,
      ofTop: null,
      hint: `${exact(rest.total_ns)} in ${plural(rest.count, "run")}`,
      rest: true,
    });
  }
  return rows;
}

function Bars({ answer, by }: { answer: Answer; by: By }): JSX.Element {
  const [lit, setLit] = useState(-1);
  const rows = rowsOf(answer, by);
  const most = Math.max(...rows.map((row) => row.ofAll ?? 0), 1e-9);
  const k = answer.top.length;
  return (
    <div
      class={`rank-scroll${rows.length > MOST_BARS_SHOWN ? " long" : ""}`}
      tabIndex={rows.length > MOST_BARS_SHOWN ? 0 : -1}
    >
      <table class="plain ranking">
        <thead>
          <tr>
            <th scope="col">Kernel</th>
            <th scope="col" class="num">
              {by === "time" ? "Time" : "Runs"}
            </th>
            <th scope="col" class="num" title={`Divided by ${by === "time" ? "the time" : "the runs"} of all kernels.`}>
              of all
            </th>
            <th
              scope="col"
              class="num"
              title={`Divided by ${by === "time" ? "the time" : "the runs"} of the ${k} kernels listed by name.`}
            >
              of top {k}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr
              key={row.rest ? "" : row.name}
              title={row.hint}
              class={lit >= 0 && lit !== i ? "dim" : ""}
              onPointerEnter={() => setLit(i)}
              onPointerLeave={() => setLit(-1)}
            >
              <th scope="row" class="ranked">
                <span class="rank-bar" style={{ width: `${(100 * (row.ofAll ?? 0)) / most}%` }} aria-hidden="true" />
                <Name text={row.name} faint={row.rest} />
              </th>
              <td
                class="num"
                data-testid={row.rest ? `top-${by}-rest` : `top-${by}-value`}
                {...(by === "time" ? { "data-ns": row.value } : { "data-value": row.value })}
              >
                {by === "time" ? duration(row.value) : count(row.value)}
              </td>
              <td class="num">{percent(row.ofAll)}</td>
              <td class="num">{row.rest ? "" : percent(row.ofTop)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The middle of a long name gives way: what tells kernels apart often stands at the end. */
function Name({ text, faint }: { text: string; faint: boolean }): JSX.Element {
  const [head, tail] = halves(brief(text), 24);
  return (
    <span class={`ranked-name${faint ? " faint" : ""}`}>
      <span>{head}</span>
      <span>{tail}</span>
    </span>
  );
}

function dataOf(answer: Answer): CardData {
  const ratio = (part: number, all: number | null) => (all ? part / all : null);
  const rows = [...answer.top, ...(answer.rest && answer.rest.kernels > 0 ? [{ ...answer.rest, name: null }] : [])];
  return {
    columns: [
      { label: "Kernel", unit: "text" },
      { label: "Time", unit: "ns", title: ABOUT.time },
      { label: "of all time", unit: "ratio", title: "Divided by the time of all kernels." },
      { label: "Runs", unit: "count", title: ABOUT.count },
      { label: "of all runs", unit: "ratio", title: "Divided by the runs of all kernels." },
    ],
    rows: rows.map((row) => [
      row.name ?? "(all others)",
      row.total_ns,
      ratio(row.total_ns, answer.total_ns),
      row.count,
      ratio(row.count, answer.runs),
    ]),
  };
}
