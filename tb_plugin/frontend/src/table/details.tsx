// The panel beside a table: what the open row stands for, how long its occurrences take, and one of them in full.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { getSlice, type SliceAnswer } from "../api";
import { count, duration, exact } from "../format";
import { GraphLink } from "../tabs/xla-link";
import { argText, moduleName, Pair, Stack } from "../timeline/slice-details";
import { Card } from "../ui/card";
import { useFetched } from "../ui/fetched";
import { Durations, durationsData } from "../ui/histogram";
import { Icon } from "../ui/icons";
import { Await } from "../ui/states";
import { exactText, shownText } from "./cells";
import { openSlice } from "./open-slice";
import { getDetails, type ColumnInfo, type DetailsAnswer, type RowsAnswer } from "./requests";
import { manyOf, ONE } from "./toolbar";
import { isTree, SINGLE, type TableView } from "./view";

export function Details(props: {
  view: TableView;
  answer: RowsAnswer;
  id: number;
  onClose: () => void;
  onGo: (patch: Partial<TableView>) => void;
}): JSX.Element {
  const { view, id } = props;
  const row = `${view.table} ${view.by} ${id}`;
  const [picked, pick] = useState<{ row: string; which: string | number }>({ row, which: "first" });
  const which = picked.row === row ? picked.which : "first";
  const found = useFetched(`details ${row} ${which}`, (at, signal) => getDetails(at, view, id, which, signal));
  return (
    <aside class="table-details" aria-label="Details of the row" data-testid="table-details">
      <button type="button" class="close" aria-label="Close the details" title="Close (Esc)" onClick={props.onClose}>
        <Icon shape="close" />
      </button>
      <Await of={found} what="the details">
        {(details) => (
          <>
            <Heading details={details} answer={props.answer} />
            {details.occurrence && (
              <Occurrence
                details={details}
                one={details.occurrence}
                view={view}
                by={props.answer.by}
                // While another row is asked for, those of the one before are still shown.
                onPick={(next) => details.id === id && pick({ row, which: next })}
                onGo={props.onGo}
              />
            )}
            <AllValues details={details} columns={props.answer.columns} />
          </>
        )}
      </Await>
    </aside>
  );
}

function Heading({ details, answer }: { details: DetailsAnswer; answer: RowsAnswer }): JSX.Element {
  const column = answer.columns.find((c) => c.key === answer.name);
  const name = details.values[answer.name];
  return (
    <>
      <p class="faint">{column?.label}</p>
      <h2 dir="auto" data-testid="details-name">
        {typeof name === "string" ? name : "none"}
      </h2>
    </>
  );
}

function Occurrence(props: {
  details: DetailsAnswer;
  one: NonNullable<DetailsAnswer["occurrence"]>;
  view: TableView;
  by: string; // the grouping of the rows
  onPick: (which: string | number) => void;
  onGo: (patch: Partial<TableView>) => void;
}): JSX.Element {
  const { details, one, view, onPick } = props;
  const at = details.at ?? 0;
  const found = useFetched(`slice ${one.row}`, (key, signal) => getSlice(key, one.row, signal)).value;
  const slice = found?.row === one.row ? found : null;
  const grouped = details.count > 1 && props.by !== SINGLE && !isTree(view.table);
  return (
    <>
      {details.count > 1 && details.histogram && details.time_ns && (
        <Card
          title="Durations"
          testId="details-durations"
          data={() => durationsData(details.histogram!, details.time_ns!, manyOf(view.table))}
        >
          <Durations
            histogram={details.histogram}
            time={details.time_ns}
            what={[ONE[view.table], manyOf(view.table)]}
            testId="details"
          />
        </Card>
      )}
      <section>
        <h3>{details.count > 1 ? "One of them" : "This occurrence"}</h3>
        {details.count > 1 && (
          <div class="occurrence-steps">
            <div class="buttons" role="group" aria-label="Which occurrence">
              {(["first", "median", "slowest"] as const).map((word) => {
                const place = word === "first" ? 0 : details[word];
                return (
                  <button
                    key={word}
                    type="button"
                    class="words"
                    aria-pressed={place === at}
                    data-testid={`occurrence-${word}`}
                    onClick={() => onPick(word)}
                  >
                    {word[0].toUpperCase() + word.slice(1)}
                  </button>
                );
              })}
            </div>
            <div class="buttons" role="group" aria-label="Occurrence before or after, by start">
              <button
                type="button"
                aria-label="Previous occurrence"
                disabled={at === 0}
                data-testid="occurrence-previous"
                onClick={() => onPick(at - 1)}
              >
                <Icon shape="previous" />
              </button>
              <button
                type="button"
                aria-label="Next occurrence"
                disabled={at + 1 >= details.count}
                data-testid="occurrence-next"
                onClick={() => onPick(at + 1)}
              >
                <Icon shape="next" />
              </button>
            </div>
            <span class="faint" data-testid="occurrence-at" role="status">
              {count(at + 1)} of {count(details.count)}
            </span>
          </div>
        )}
        <>
          <dl class="pairs">
            <Pair label="Duration" value={duration(one.dur)} more={exact(one.dur)} testId="occurrence-duration" />
            <Pair label="Start" value={duration(one.start)} more={exact(one.start)} />
            {slice && <Context slice={slice} />}
          </dl>
          <div class="occurrence-go">
            <button
              type="button"
              class="primary"
              data-testid="open-in-timeline"
              onClick={() => openSlice(details.origin_ns, one)}
            >
              Open in timeline
            </button>
            {slice && <GraphLink args={slice.args} />}
            {grouped && (
              <button
                type="button"
                class="text-button"
                data-testid="list-occurrences"
                onClick={() =>
                  props.onGo({
                    by: SINGLE,
                    within: { by: props.by, id: details.id },
                    sort: null,
                    ascending: false,
                    bounds: [],
                    columns: null,
                    text: "",
                    open: null,
                  })
                }
              >
                List all {count(details.count)} {manyOf(view.table)}
              </button>
            )}
          </div>
        </>
        {slice && <Recorded slice={slice} />}
      </section>
    </>
  );
}

function Context({ slice }: { slice: SliceAnswer }): JSX.Element {
  return (
    <>
      {slice.step !== null && slice.step >= 0 && <Pair label="Step" value={String(slice.step)} />}
      <Pair label="Lane" value={slice.lane_name} />
      {slice.operator && slice.operator.row !== slice.row && (
        <Pair label="Operator" value={slice.operator.name} testId="occurrence-operator" />
      )}
      {slice.modules && slice.modules.length > 0 && (
        <Pair label="Module" value={slice.modules.map(moduleName).join(" › ")} testId="occurrence-module" />
      )}
      {slice.connections
        .filter((to) => to.type === "launch")
        .map((to) => (
          <Pair key={to.row} label="Launch" value={to.name} more={to.latency === null ? "" : latencyText(to.latency)} />
        ))}
    </>
  );
}

/** A call may still go on when its work begins, as that of a copy which waits for it. */
const latencyText = (ns: number) => (ns < 0 ? `began ${duration(-ns)} before its end` : `${duration(ns)} before`);

function Recorded({ slice }: { slice: SliceAnswer }): JSX.Element {
  const args = Object.entries(slice.args ?? {}).filter(([name]) => name !== "Call stack" || !slice.stack?.length);
  return (
    <>
      {slice.stack && slice.stack.length > 0 && <Stack frames={slice.stack} />}
      {args.length > 0 && (
        <details open>
          <summary>Arguments</summary>
          <dl class="pairs mono">
            {args.map(([name, value]) => (
              <Pair key={name} label={name} value={argText(value)} />
            ))}
          </dl>
        </details>
      )}
    </>
  );
}

function AllValues({ details, columns }: { details: DetailsAnswer; columns: readonly ColumnInfo[] }): JSX.Element {
  return (
    <details class="all-values">
      <summary>All columns of this row</summary>
      <dl class="pairs">
        {columns.map((column) => {
          const value = details.values[column.key] ?? null;
          return (
            <div key={column.key}>
              <dt title={column.about}>{column.label}</dt>
              <dd title={exactText(value, column.unit)}>
                <bdi>{shownText(value, column.unit)}</bdi>
              </dd>
            </div>
          );
        })}
      </dl>
    </details>
  );
}
