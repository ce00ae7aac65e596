// A table that sorts by any column and draws only the rows in view.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import { scrollHeight, scrollTopOf, topRow } from "../table/scroll";

export interface Column {
  key: string;
  label: string;
  sort?: string; // what the server calls it; without it the key
  title?: string; // definition and unit
  numeric?: boolean;
  width?: number; // pixels; without it the column grows, from 74 for numbers and 180 for text
  value: (row: number) => number | string | null; // to sort by
  cell?: (row: number) => ComponentChildren; // what is shown, where it is not the value
  hint?: (row: number) => string; // tooltip of a cell
}

export interface Sort {
  key: string;
  descending: boolean;
}

export const ROW_HEIGHT = 26;
const EXTRA_ROWS = 8;

/** Row indices in order; rows without a value come last whichever way the rest is sorted. */
export function sortRows(count: number, column: Column | undefined, descending: boolean): number[] {
  const order = Array.from({ length: count }, (_, i) => i);
  if (!column) return order;
  const values = order.map(column.value);
  const sign = descending ? -1 : 1;
  return order.sort((a, b) => {
    const x = values[a];
    const y = values[b];
    if (x === null || y === null) return x === y ? a - b : x === null ? 1 : -1;
    const by = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
    return by === 0 ? a - b : by * sign;
  });
}

// Header and rows are grids of their own: only tracks that do not depend on contents line up.
// 7 pixels a letter hold any label, with its sort mark and padding.
const leastWidth = (column: Column) =>
  column.width ?? (column.numeric ? Math.max(74, column.label.length * 7 + 30) : 180);

function track(column: Column): string {
  if (column.width) return `${column.width}px`;
  return `minmax(${leastWidth(column)}px, ${column.numeric ? 1 : 4}fr)`;
}

export function Table(props: {
  name: string;
  testId: string;
  count: number;
  columns: readonly Column[];
  initial: Sort;
  onOpen?: (row: number) => void;
  height?: number; // pixels; without it the table takes what its parent leaves
  version?: unknown; // changes when the values do
  /** The rows are elsewhere, sorted there and fetched when they come into sight; values may not be there yet. */
  remote?: { onSort: (sort: Sort) => void; need: (first: number, last: number) => void; has: (row: number) => boolean };
}): JSX.Element {
  const { columns, count, remote } = props;
  const [sort, setSort] = useState(props.initial);
  const [view, setView] = useState({ top: 0, height: props.height ?? 400 });
  const [active, setActive] = useState(-1);
  const scroller = useRef<HTMLDivElement>(null);
  const order = useMemo(
    () =>
      remote
        ? null
        : sortRows(
            count,
            columns.find((column) => column.key === sort.key),
            sort.descending,
          ),
    [count, props.version, sort.key, sort.descending, columns, !remote],
  );
  const rowAt = (at: number) => (order ? order[at] : at);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const read = () => {
      const now = { top: element.scrollTop, height: element.clientHeight };
      // The observer calls at the start too: all rows would be made twice before they are painted.
      setView((was) => (was.top === now.top && was.height === now.height ? was : now));
    };
    const observer = new ResizeObserver(read);
    observer.observe(element);
    element.addEventListener("scroll", read, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", read);
    };
  }, []);

  const sortBy = (column: Column) => {
    const same = sort.key === column.key;
    const wanted = { key: column.key, descending: same ? !sort.descending : Boolean(column.numeric) };
    setSort(wanted);
    remote?.onSort({ key: column.sort ?? column.key, descending: wanted.descending });
  };
  const onKey = (event: KeyboardEvent) => {
    if (!props.onOpen) return;
    if (event.key === "Enter" && active >= 0 && event.target === scroller.current) props.onOpen(rowAt(active));
    const page = Math.max(1, Math.floor(view.height / ROW_HEIGHT) - 2);
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const by = moves[event.key];
    if (by === undefined || event.target !== scroller.current) return;
    event.preventDefault();
    const next = Math.min(count - 1, Math.max(0, active + by));
    setActive(next);
    const element = scroller.current;
    if (!element) return;
    const rows = element.clientHeight / ROW_HEIGHT - 1; // below the header
    const first = topRow(element.scrollTop, element.clientHeight, count);
    if (next < first) element.scrollTop = scrollTopOf(next, element.clientHeight, count);
    else if (next + 1 > first + rows) element.scrollTop = scrollTopOf(next + 1 - rows, element.clientHeight, count);
  };

  const tracks = columns.map(track).join(" ");
  const minWidth = `${columns.reduce((sum, column) => sum + leastWidth(column), 16)}px`;
  const top = topRow(view.top, view.height, count);
  const first = Math.max(0, Math.floor(top) - EXTRA_ROWS);
  const last = Math.min(count, Math.ceil(top + view.height / ROW_HEIGHT) + EXTRA_ROWS);
  const rows = [];
  for (let i = first; i < last; i += 1) {
    const row = rowAt(i);
    rows.push({ at: i, row, known: !remote || remote.has(row) }); // one that is not there yet has empty cells
  }
  useEffect(() => remote?.need(first, last));

  return (
    <div
      class={`table${props.onOpen ? " opens" : ""}`}
      role="table"
      aria-label={props.name}
      aria-rowcount={count + 1}
      data-testid={props.testId}
      ref={scroller}
      tabIndex={0}
      style={{ height: props.height ? `${props.height}px` : undefined }}
      onKeyDown={onKey}
    >
      <div class="table-head" role="row" style={{ gridTemplateColumns: tracks, minWidth }}>
        {columns.map((column) => (
          <div
            key={column.key}
            role="columnheader"
            class={column.numeric ? "num" : ""}
            aria-sort={sort.key === column.key ? (sort.descending ? "descending" : "ascending") : "none"}
          >
            <button type="button" title={column.title} onClick={() => sortBy(column)}>
              {column.label}
              <span class="sort" aria-hidden="true">
                {sort.key === column.key ? (sort.descending ? "▾" : "▴") : ""}
              </span>
            </button>
          </div>
        ))}
      </div>
      <div class="table-body" role="rowgroup" style={{ height: `${scrollHeight(count)}px`, minWidth }}>
        {rows.map(({ at, row, known }) => (
          <div
            key={row}
            role="row"
            aria-rowindex={at + 2}
            class={`table-row${at % 2 ? " odd" : ""}${at === active ? " active" : ""}`}
            style={{
              gridTemplateColumns: tracks,
              minWidth,
              top: `${Math.round(view.top + (at - top) * ROW_HEIGHT)}px`,
            }}
            onClick={() => props.onOpen?.(row)}
          >
            {columns.map((column) => (
              <div
                key={column.key}
                role="cell"
                class={column.numeric ? "num" : ""}
                title={known ? column.hint?.(row) : undefined}
                data-testid={known ? `${props.testId}-${column.key}` : undefined}
              >
                {!known ? "" : column.cell ? column.cell(row) : column.value(row)}
              </div>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}
