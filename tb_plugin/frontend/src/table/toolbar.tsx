// What is above a table: grouping, filters, columns and files.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { key } from "../data";
import { count, plural } from "../format";
import { Icon } from "../ui/icons";
import { quantityOf, shownText, UNIT_HINTS } from "./cells";
import { Popover } from "./popover";
import { isText, tableAddress, type ColumnInfo, type RowsAnswer } from "./requests";
import { SINGLE, type Bound, type TableName, type TableView } from "./view";

export const FILTER_FIELD = "table-filter";
const TYPING_MS = 180;

/** What one row is where rows are not grouped. */
export const ONE: Record<TableName, string> = {
  kernels: "kernel run",
  operators: "operator call",
  modules: "module",
  memory: "copy or fill",
  launches: "launch",
  annotations: "region",
};

/** The same in the plural. */
export const manyOf = (table: TableName) =>
  (({ memory: "copies and fills", launches: "launches" }) as Partial<Record<TableName, string>>)[table] ??
  `${ONE[table]}s`;

interface Props {
  view: TableView;
  answer: RowsAnswer | null;
  problem: string;
  busy: boolean;
  columns: readonly ColumnInfo[];
  onChange: (patch: Partial<TableView>) => void; // Back does not stop here
  onGo: (patch: Partial<TableView>) => void; // a step that Back undoes
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
            <option value={SINGLE}>Nothing: every {ONE[view.table]}</option>
          </select>
        </label>
      )}
      {view.table === "modules" && (
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

function TextFilter({ view, onChange, problem }: Props): JSX.Element {
  const [text, setText] = useState(view.text);
  useEffect(() => setText(view.text), [view.text, view.table]);
  useEffect(() => {
    if (text === view.text) return;
    const timer = setTimeout(() => onChange({ text }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const broken = view.regex && problem.includes("regular expression");
  return (
    <div class={`search-box${broken ? " failed" : ""}`} role="search">
      <Icon shape="search" />
      <input
        id={FILTER_FIELD}
        type="text"
        spellcheck={false}
        autocomplete="off"
        aria-label="Filter rows by text in any column"
        aria-invalid={broken}
        placeholder="Filter by text"
        title="Rows that hold this text in any column of text. In the table, type to come here."
        data-testid="table-filter"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape" && text !== "") {
            setText("");
            event.stopPropagation();
          } else if (event.key === "ArrowDown" || event.key === "Enter") {
            event.preventDefault();
            document.querySelector<HTMLElement>("[data-testid=table-grid]")?.focus();
          }
        }}
      />
      <button
        type="button"
        class="rule"
        aria-pressed={view.regex}
        aria-label="Regular expression"
        title="Regular expression (RE2)"
        data-testid="table-regex"
        onClick={() => onChange({ regex: !view.regex })}
      >
        .*
      </button>
    </div>
  );
}

/** Numbers between two ends. */
function Conditions({ view, answer, onGo }: Props): JSX.Element {
  const numbers = (answer?.columns ?? []).filter((column) => !isText(column.unit) && column.unit !== "flag");
  const [picked, pick] = useState<string | null>(null);
  const [ends, setEnds] = useState({ least: "", most: "" });
  const column = numbers.find((c) => c.key === picked) ?? numbers.find((c) => c.unit === "ns") ?? numbers[0];
  const least = column ? quantityOf(ends.least, column.unit) : null;
  const most = column ? quantityOf(ends.most, column.unit) : null;
  const wrong = Number.isNaN(least ?? 0) || Number.isNaN(most ?? 0);
  const add = (close: () => void) => {
    if (!column || wrong || (least === null && most === null)) return;
    const others = view.bounds.filter((bound) => bound.column !== column.key);
    onGo({ bounds: [...others, { column: column.key, least, most }] });
    setEnds({ least: "", most: "" });
    close();
  };
  return (
    <Popover label="Filter by number" title="Show rows whose value lies between two numbers" testId="table-conditions">
      {(close) => (
        <form
          class="conditions"
          onSubmit={(event) => {
            event.preventDefault();
            add(close);
          }}
        >
          <label>
            <span>Column</span>
            <select
              value={column?.key}
              data-testid="condition-column"
              onChange={(event) => pick(event.currentTarget.value)}
            >
              {numbers.map((c) => (
                <option key={c.key} value={c.key}>
                  {c.label}
                </option>
              ))}
            </select>
          </label>
          {(["least", "most"] as const).map((end) => (
            <label key={end}>
              <span>{end === "least" ? "At least" : "At most"}</span>
              <input
                type="text"
                size={12}
                placeholder={column && UNIT_HINTS[column.unit]}
                aria-invalid={Number.isNaN((end === "least" ? least : most) ?? 0)}
                data-testid={`condition-${end}`}
                value={ends[end]}
                onInput={(event) => setEnds({ ...ends, [end]: event.currentTarget.value })}
              />
            </label>
          ))}
          {wrong && (
            <p class="problem" role="alert">
              Write a number{column && UNIT_HINTS[column.unit] ? `, ${UNIT_HINTS[column.unit]}` : ""}.
            </p>
          )}
          <button type="submit" class="primary" disabled={wrong || (least === null && most === null)}>
            Show these rows
          </button>
        </form>
      )}
    </Popover>
  );
}

function boundText(bound: Bound, column: ColumnInfo | undefined): string {
  const text = (value: number) => (column ? shownText(value, column.unit) : String(value));
  const name = column?.label ?? bound.column;
  if (bound.least !== null && bound.most !== null) return `${text(bound.least)} ≤ ${name} ≤ ${text(bound.most)}`;
  return bound.least !== null ? `${name} ≥ ${text(bound.least)}` : `${name} ≤ ${text(bound.most ?? 0)}`;
}

const groupLabel = (groupings: RowsAnswer["groupings"], by: string) =>
  (groupings.find((grouping) => grouping.key === by)?.label ?? by).toLowerCase();

function Chip({ text, onRemove }: { text: string; onRemove: () => void }): JSX.Element {
  return (
    <span class="chip">
      {text}
      <button type="button" aria-label={`Remove: ${text}`} onClick={onRemove}>
        <Icon shape="close" />
      </button>
    </span>
  );
}

function Columns({ answer, columns, onChange }: Props): JSX.Element {
  const shown = new Set(columns.map((column) => column.key));
  const all = answer?.columns ?? [];
  const toggle = (key: string) => {
    const next = all.filter((c) => (c.key === key ? !shown.has(key) : shown.has(c.key))).map((c) => c.key);
    if (next.length > 0) onChange({ columns: next });
  };
  return (
    <Popover label="Columns" title="Choose the columns" testId="table-columns">
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
