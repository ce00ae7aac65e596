// The way from a list on the Summary tab to all of its rows.

import type { JSX } from "preact";
import { navigate } from "../state";
import { INITIAL_TABLE, type TableName } from "../table/view";

/** `sort`: the column by which the table begins; else as the table says. */
export function AllInTables({ table, sort = null }: { table: TableName; sort?: string | null }): JSX.Element {
  return (
    <button
      type="button"
      class="text-link no-picture"
      title={`All ${table} with every column, filters and their occurrences`}
      data-testid={`all-${table}`}
      onClick={() => navigate({ tab: "tables", tables: { ...INITIAL_TABLE, table, sort } })}
    >
      all in Tables
    </button>
  );
}
