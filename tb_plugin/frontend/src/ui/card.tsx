// A card of a page: title, what it is measured against, its menu (table, CSV, PNG), and what it shows.

import type { ComponentChildren, JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { csv } from "../csv";
import { rankShown, shown } from "../data";
import { sentence } from "../resource";
import { exactText, shownText } from "../table/cells";
import { Mid } from "../table/mid";
import type { Unit, Value } from "../table/requests";
import { save, savePicture } from "../timeline/export";
import { Icon } from "./icons";
import { Menu, type MenuItem } from "./menu";
import { pictureOf } from "./picture";
import { ROW_HEIGHT, Table, type Column } from "./table";

export interface CardColumn {
  label: string;
  unit: Unit;
  title?: string; // definition
}

/** The numbers of a card, as its table and its CSV file show them. */
export interface CardData {
  columns: readonly CardColumn[];
  rows: readonly (readonly Value[])[];
}

const MOST_ROWS = 12; // before the table scrolls
const CSV_UNITS: Partial<Record<Unit, string>> = {
  ns: " (ns)",
  moment: " (ns)",
  bytes: " (bytes)",
  bytes_per_s: " (bytes/s)",
  flop: " (FLOP)",
  flop_per_s: " (FLOP/s)",
};

export function Card(props: {
  title: string;
  definition?: string;
  basis?: ComponentChildren; // what the numbers are of
  actions?: ComponentChildren; // in the title's row
  data?: () => CardData; // without it the card has no menu
  isTable?: boolean; // it shows these numbers as a table already
  testId?: string;
  wide?: boolean;
  children: ComponentChildren;
}): JSX.Element {
  const { title, definition, basis, actions, data, testId } = props;
  const [asTable, setAsTable] = useState(false);
  const [problem, setProblem] = useState("");
  const card = useRef<HTMLElement>(null);
  const save_ = (what: () => Promise<void> | void) => async () => {
    setProblem("");
    try {
      await what();
    } catch (error) {
      setProblem(sentence(error));
    }
  };
  const items: MenuItem[] = data
    ? [
        ...(props.isTable
          ? []
          : [
              {
                label: asTable ? "Show as chart" : "Show as table",
                testId: "card-table",
                act: () => setAsTable(!asTable),
              },
            ]),
        { label: "Save numbers", hint: "CSV", testId: "card-csv", act: save_(() => saveText(csvOf(data()), title)) },
        {
          label: "Save picture",
          hint: "PNG",
          testId: "card-png",
          act: save_(async () => savePicture(await pictureOf(card.current as HTMLElement), fileName(title, "png"))),
        },
      ]
    : [];
  return (
    <section class={`card${props.wide ? " wide" : ""}`} data-testid={testId} ref={card} aria-label={title}>
      <div class="card-title">
        <h3 title={definition}>{title}</h3>
        {actions}
        {items.length > 0 && (
          <span class="card-menu no-picture">
            <Menu label={`More on ${title}`} items={() => items} testId="card-menu">
              <Icon shape="more" />
            </Menu>
          </span>
        )}
      </div>
      {basis && <p class="basis">{basis}</p>}
      {problem && <p class="banner warn">{problem}</p>}
      {asTable && data ? <Numbers name={title} data={data()} /> : props.children}
    </section>
  );
}

function Numbers({ name, data }: { name: string; data: CardData }): JSX.Element {
  const columns = useMemo<Column[]>(
    () =>
      data.columns.map((column, c) => {
        const value = (row: number) => data.rows[row][c];
        const numeric = column.unit !== "text" && column.unit !== "flag";
        return {
          key: String(c),
          label: column.label,
          title: column.title,
          numeric,
          value: (row) => {
            const v = value(row);
            return typeof v === "boolean" ? Number(v) : v;
          },
          cell: (row) => {
            const text = shownText(value(row), column.unit);
            return column.unit === "text" ? <Mid text={text} /> : text;
          },
          hint: (row) => exactText(value(row), column.unit),
        };
      }),
    [data],
  );
  return (
    <div class="card-numbers">
      <Table
        name={name}
        testId="card-number"
        count={data.rows.length}
        columns={columns}
        initial={{ key: "", descending: false }}
        height={(Math.min(data.rows.length, MOST_ROWS) + 1) * ROW_HEIGHT + 4}
        version={data}
      />
    </div>
  );
}

export function csvOf(data: CardData): string {
  const header = data.columns.map((column) => column.label + (CSV_UNITS[column.unit] ?? ""));
  return csv(header, data.rows);
}

/** A name that tells run and rank, and what the file holds. */
export function fileName(what: string, ending: string): string {
  const rank = rankShown.peek();
  const words = [shown.peek().run?.name ?? "run", rank !== null ? `rank${rank}` : "", what].filter(Boolean).join("-");
  return `${words.replace(/[^\w.-]+/g, "_").slice(0, 100)}.${ending}`;
}

const TYPES = {
  csv: "text/csv",
  md: "text/markdown",
  txt: "text/plain",
  dot: "text/vnd.graphviz",
  svg: "image/svg+xml",
};

export function saveText(text: string, what: string, ending: "csv" | "md" | "txt" | "dot" | "svg" = "csv"): void {
  const type = TYPES[ending];
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  save(address, fileName(what, ending));
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
