// The rows of a view for a part of a page: fetched while it is on show, again when the view changes or data comes in.

import { useEffect, useMemo, useState } from "preact/hooks";
import { freshness, key } from "../data";
import { Pages } from "./pages";
import type { ColumnInfo, RowsAnswer } from "./requests";
import type { TableView } from "./view";

/** `columns` are those on show; `say` tells a screen reader `said`. `asked`: the view with more conditions than it tells. */
export function usePages(view: TableView, asked: TableView = view) {
  const at = key.value;
  const stamp = freshness.value;
  const pages = useMemo(() => new Pages(), []);
  const [said, say] = useState("");
  useEffect(() => {
    if (at) pages.open(at, asked, stamp);
  }, [at, asked, stamp]);
  useEffect(() => () => pages.stop(), []);
  const { value: answer, state, detail } = pages.now.value;
  const columns = useMemo(() => shownColumns(answer, view.columns), [answer?.columns, view.columns]);
  return { pages, answer, problem: state === "error" ? detail : "", columns, said, say };
}

/** The columns in the order of the table; those that the view names, if it names any that exist. */
export function shownColumns(answer: RowsAnswer | null, picked: readonly string[] | null): ColumnInfo[] {
  const all = answer?.columns ?? [];
  const chosen = all.filter((column) => picked?.includes(column.key) || column.key === answer?.name);
  return picked && chosen.length > 0 ? chosen : all.filter((column) => column.shown || column.key === answer?.name);
}
