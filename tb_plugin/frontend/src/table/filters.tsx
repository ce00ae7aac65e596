// What leaves rows of a table out: a text, and numbers between two ends.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Pace } from "../pace";
import { Icon } from "../ui/icons";
import { quantityOf, shownText, UNIT_HINTS } from "./cells";
import { Popover } from "./popover";
import { isText, type ColumnInfo, type RowsAnswer } from "./requests";
import type { Bound, TableView } from "./view";

const FILTER_FIELD = "table-filter";
const REST_MS = 150; // between letters

/** Go to the text filter, behind what stands in it. */
export function focusFilter(): void {
  const field = document.getElementById(FILTER_FIELD) as HTMLInputElement | null;
  field?.focus();
  field?.setSelectionRange(field.value.length, field.value.length);
}

export interface FilterProps {
  view: TableView;
  answer: RowsAnswer | null;
  problem: string;
  onChange: (patch: Partial<TableView>) => void; // Back does not stop here
  onGo: (patch: Partial<TableView>) => void; // a step that Back undoes
}

export function TextFilter({ view, onChange, problem }: FilterProps): JSX.Element {
  const [text, setText] = useState(view.text);
  const sent = useRef(view.text);
  const pace = useMemo(() => new Pace(REST_MS), []);
  useEffect(() => {
    if (view.text !== sent.current) setText(view.text); // Back, or another table; not the echo of what is typed here
    sent.current = view.text;
  }, [view.text, view.table]);
  useEffect(() => {
    if (text === sent.current) return;
    pace.run(() => {
      sent.current = text;
      onChange({ text });
    });
    return () => pace.stop();
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
export function Conditions({ view, answer, onGo }: FilterProps): JSX.Element {
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

export function boundText(bound: Bound, column: ColumnInfo | undefined): string {
  const text = (value: number) => (column ? shownText(value, column.unit) : String(value));
  const name = column?.label ?? bound.column;
  if (bound.least !== null && bound.most !== null) return `${text(bound.least)} ≤ ${name} ≤ ${text(bound.most)}`;
  return bound.least !== null ? `${name} ≥ ${text(bound.least)}` : `${name} ≤ ${text(bound.most ?? 0)}`;
}

export const groupLabel = (groupings: RowsAnswer["groupings"], by: string) =>
  (groupings.find((grouping) => grouping.key === by)?.label ?? by).toLowerCase();

export function Chip({ text, onRemove }: { text: string; onRemove: () => void }): JSX.Element {
  return (
    <span class="condition-chip">
      {text}
      <button type="button" aria-label={`Remove: ${text}`} onClick={onRemove}>
        <Icon shape="close" />
      </button>
    </span>
  );
}
