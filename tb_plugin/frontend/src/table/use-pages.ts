// The rows of a view for a part of a page: fetched while it is on show, again when the view changes or data comes in.

import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { freshness, key } from "../data";
import { shownColumns, useRoom } from "./columns";
import { Pages } from "./pages";
import type { TableView } from "./view";

/** `columns` are those on show; `say` tells a screen reader `said`. `asked`: the view with more conditions than it tells.
 * `around`: pixels of the window's width that are not the table's. */
export function usePages(view: TableView, asked: TableView = view, around = 0) {
  const at = key.value;
  const stamp = freshness.value;
  const pages = useMemo(() => {
    const made = new Pages();
    if (at) made.open(at, asked, stamp); // before the first frame, which shows what is there already
    return made;
  }, []);
  const [said, say] = useState("");
  useLayoutEffect(() => {
    if (at) pages.open(at, asked, stamp);
  }, [at, asked, stamp]);
  useEffect(() => () => pages.stop(), []);
  const { value: answer, state, detail } = pages.now.value;
  const room = useRoom(around);
  const columns = useMemo(
    () => shownColumns(answer, view.columns, room),
    [answer?.columns, answer?.sort, view.columns, room],
  );
  return { pages, answer, problem: state === "error" ? detail : "", columns, said, say };
}
