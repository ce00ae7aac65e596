// What is above a table: grouping, filters, columns and files.

import type { JSX } from "preact";
import { key } from "../data";
import { count, plural } from "../format";
import { boundText, Chip, Conditions, groupLabel, TextFilter, type FilterProps } from "./filters";
import { Popover } from "./popover";
import { tableAddress, type ColumnInfo } from "./requests";
import { isTree, SINGLE, type TableName } from "./view";

/** What one row is where rows are not grouped. */
export const ONE: Record<TableName, string> = {
  kernels: "kernel run",
  operators: "operator call",
  modules: "module",
  memory: "copy or fill",
  collectives: "collective",
  allocations: "allocation",
  launches: "launch",
  annotations: "region",
  requests: "request",
  batches: "batch",
  hlo: "HLO run",
  hlo_profile: "HLO run",
};

/** The same in the plural. */
export const manyOf = (table: TableName) =>
  (({ memory: "copies and fills", launches: "launches", batches: "batches" }) as Partial<Record<TableName, string>>)[
    table
  ] ?? `${ONE[table]}s`;

interface Props extends FilterProps {
  busy: boolean;
  columns: readonly ColumnInfo[];
}

export function TableToolbar(props: Props): JSX.Element {
  const { view, answer, onGo } = props;
  const groupings = answer?.groupings ?? [];
  const by = view.by ?? answer?.by ?? "";
  return (
    <div class="toolbar table-toolbar">
      {groupings.length > 0 && (
        <label class="field">
          <span class="faint">Group by</span>
          <select
            value={by}
            data-testid="table-by"
            onChange={(event) =>
              onGo({
                by: event.currentTarget.value,
                sort: null,
                ascending: false,
                bounds: [],
                columns: null,
                within: null,
              })
            }
          >
            {groupings.map((grouping) => (
              <option key={grouping.key} value={grouping.key}>
                {grouping.label}
              </option>
            ))}
            {!isTree(view.table) && <option value={SINGLE}>Nothing: every {ONE[view.table]}</option>}
          </select>
        </label>
      )}
      {isTree(view.table) && (
        <div class="buttons" role="group" aria-label="Levels of the tree">
          <button type="button" class="words" onClick={() => onGo({ levels: 1000, toggled: [] })}>
            Open all
          </button>
          <button type="button" class="words" onClick={() => onGo({ levels: 0, toggled: [] })}>
            Close all
          </button>
        </div>
      )}
      <TextFilter {...props} />
      <Conditions {...props} />
      {view.within && by === SINGLE && (
        <Chip
          text={`Only one group (${groupLabel(groupings, view.within.by)})`}
          onRemove={() => onGo({ within: null })}
        />
      )}
      {view.bounds.map((bound) => (
        <Chip
          key={bound.column}
          text={boundText(
            bound,
            answer?.columns.find((column) => column.key === bound.column),
          )}
          onRemove={() => onGo({ bounds: view.bounds.filter((other) => other !== bound) })}
        />
      ))}
      <span class="spacer" />
      {props.problem !== "" && answer && (
        <span class="problem" role="alert" data-testid="table-problem" title={props.problem}>
          {props.problem}
        </span>
      )}
      {answer && (
        <span class="faint table-count" data-testid="table-count" role="status">
          {answer.count === answer.total
            ? plural(answer.total, "row")
            : `${count(answer.count)} of ${plural(answer.total, "row")}`}
          {by !== SINGLE &&
            groupings.length > 0 &&
            ` · ${plural(answer.occurrences, ONE[view.table], manyOf(view.table))}`}
        </span>
      )}
      <span class={`busy${props.busy ? " on" : ""}`} aria-hidden="true" />
      <Columns {...props} />
      <Files {...props} />
    </div>
  );
}

function Columns({ view, answer, columns, onChange }: Props): JSX.Element {
  const shown = new Set(columns.map((column) => column.key));
  const all = answer?.columns ?? [];
  const without = view.columns ? 0 : all.filter((column) => column.shown && !shown.has(column.key)).length;
  const toggle = (key: string) => {
    const next = all.filter((c) => (c.key === key ? !shown.has(key) : shown.has(c.key))).map((c) => c.key);
    if (next.length > 0) onChange({ columns: next });
  };
  return (
    <Popover
      label={without > 0 ? `Columns (${without} more)` : "Columns"}
      title={without > 0 ? `Choose the columns: ${without} of them did not fit` : "Choose the columns"}
      testId="table-columns"
    >
      {() => (
        <fieldset class="choices">
          <legend class="sr-only">Columns</legend>
          {all.map((column) => (
            <label key={column.key} title={column.about}>
              <input
                type="checkbox"
                checked={shown.has(column.key)}
                disabled={column.key === answer?.name}
                onChange={() => toggle(column.key)}
              />
              {column.label}
            </label>
          ))}
          <button type="button" class="text-button" onClick={() => onChange({ columns: null })}>
            As at the beginning
          </button>
        </fieldset>
      )}
    </Popover>
  );
}

function Files({ view, columns, answer }: Props): JSX.Element {
  const at = key.value;
  const keys = columns.map((column) => column.key);
  return (
    <Popover label="Download" title="Save all rows that the filter leaves" testId="table-files">
      {(close) => (
        <div class="files">
          <p class="faint">{plural(answer?.count ?? 0, "row")} in this order, with the columns on show; times in ns.</p>
          {at &&
            (["csv", "parquet"] as const).map((to) => (
              <a
                key={to}
                href={tableAddress(at, view, to, keys)}
                download=""
                data-testid={`table-${to}`}
                onClick={close}
              >
                {to === "csv" ? "CSV" : "Parquet"}
                <span class="faint">
                  {to === "csv"
                    ? "for spreadsheets; names that begin like a formula (= + - @) get an apostrophe"
                    : "for programs; typed, names as they are"}
                </span>
              </a>
            ))}
        </div>
      )}
    </Popover>
  );
}
