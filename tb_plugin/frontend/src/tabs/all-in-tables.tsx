// The way from a list on the Summary tab to all of its rows.

import type { JSX } from "preact";
import { navigate } from "../state";
import { INITIAL_TABLE, type TableName } from "../table/view";

/** `sort` and `by`: the column and the grouping by which the table begins; else as the table says. */
export function AllInTables(props: { table: TableName; sort?: string | null; by?: string | null }): JSX.Element {
  const { table, sort = null, by = null } = props;
  return (
    <button
      type="button"
      class="text-link no-picture"
      title={`All ${table} with every column, filters and their occurrences`}
      data-testid={`all-${table}`}
      onClick={() => navigate({ tab: "tables", tables: { ...INITIAL_TABLE, table, sort, by } })}
    >
      all in Tables
    </button>
  );
}

/** The same behind a text, without the comma where a picture leaves it out. */
export function AndAllInTables(props: { table: TableName; sort?: string }): JSX.Element {
  return (
    <span class="no-picture">
      , <AllInTables {...props} />
    </span>
  );
}
