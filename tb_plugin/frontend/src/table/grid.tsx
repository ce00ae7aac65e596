// A grid of any number of rows, of which only those in sight are fetched and drawn.

import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { asTabs, exactText } from "./cells";
import { leastWidth, ROW_PADDING } from "./columns";
import { valueOf, type Pages } from "./pages";
import { isWords, type ColumnInfo, type RowsAnswer, type Unit } from "./requests";
import { Row, type RowActs } from "./row";
import { reveal, ROW_HEIGHT, scrollHeight, topRow } from "./scroll";

const EXTRA_ROWS = 10;
const MOST_COPIED = 10_000;

interface Place {
  row: number;
  column: number;
}

export function Grid(props: {
  label: string;
  pages: Pages;
  answer: RowsAnswer;
  columns: readonly ColumnInfo[]; // those shown
  ascending: boolean;
  open: number | null; // id of the row that is open
  onSort: (column: ColumnInfo) => void;
  onOpen: (id: number) => void;
  onToggle: (id: number) => void;
  onType: () => void; // a letter was typed: it belongs into the filter
  say: (what: string) => void;
}): JSX.Element {
  const { pages, answer, columns } = props;
  const { count } = answer;
  const isTree = answer.depth !== null;
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 400 });
  const [active, setActive] = useState<Place>({ row: 0, column: 0 });
  const [anchor, setAnchor] = useState<number | null>(null); // where a selection of rows began
  void pages.version.value;

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const read = () => {
      const now = { top: element.scrollTop, height: element.clientHeight - ROW_HEIGHT };
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

  const top = topRow(view.top, view.height, count);
  const first = Math.max(0, Math.floor(top) - EXTRA_ROWS);
  const last = Math.min(count, Math.ceil(top + view.height / ROW_HEIGHT) + EXTRA_ROWS);
  useEffect(() => {
    if (first < last) void pages.need(first, last);
  }, [first, last, pages.version.value]);

  const row = Math.min(active.row, Math.max(0, count - 1));
  const column = Math.min(active.column, columns.length - 1);
  const [from, to] = anchor === null ? [row, row] : [Math.min(anchor, row), Math.max(anchor, row)];
  const tracks = useMemo(
    () =>
      columns
        .map((c) => {
          const isName = c.key === answer.name;
          return `minmax(${leastWidth(c, isName)}px, ${c.unit === "text" ? (isName ? 5 : 2) : 1}fr)`;
        })
        .join(" "),
    [columns, answer.name],
  );
  const minWidth = `${columns.reduce((sum, c) => sum + leastWidth(c, c.key === answer.name), ROW_PADDING)}px`;

  const moveTo = (next: number, extend: boolean) => {
    const element = scroller.current;
    const to = Math.min(Math.max(0, next), count - 1);
    setAnchor(extend ? (anchor ?? row) : null);
    setActive({ row: to, column });
    if (element) element.scrollTop = reveal(to, element.scrollTop, view.height, count);
  };
  const idAt = (index: number) => {
    const found = pages.at(index);
    return found && found.of.id[found.i];
  };

  const onKey = (event: KeyboardEvent) => {
    if (event.target !== scroller.current || count === 0) return;
    const command = event.ctrlKey || event.metaKey;
    const page = Math.max(1, Math.floor(view.height / ROW_HEIGHT) - 1);
    const rows: Record<string, number> = {
      ArrowDown: row + 1,
      ArrowUp: row - 1,
      PageDown: row + page,
      PageUp: row - page,
    };
    const id = idAt(row);
    const found = pages.at(row);
    const branch = isTree && column === 0 && id !== null && found?.of.has_children?.[found.i] ? isOpen(row) : null;
    if (event.key in rows) moveTo(rows[event.key], event.shiftKey);
    else if (command && event.key === "Home") moveTo(0, event.shiftKey);
    else if (command && event.key === "End") moveTo(count - 1, event.shiftKey);
    else if (event.key === "Home") setActive({ row, column: 0 });
    else if (event.key === "End") setActive({ row, column: columns.length - 1 });
    else if (event.key === "ArrowRight" && branch === false && id !== null) props.onToggle(id);
    else if (event.key === "ArrowLeft" && branch === true && id !== null) props.onToggle(id);
    else if (event.key === "ArrowRight") setActive({ row, column: Math.min(column + 1, columns.length - 1) });
    else if (event.key === "ArrowLeft") setActive({ row, column: Math.max(column - 1, 0) });
    else if (event.key === "Enter" && id !== null) props.onOpen(id);
    else if (command && event.key.toLowerCase() === "c") void copy();
    else {
      // The key that goes on from here is written into the field.
      if (!command && !event.altKey && event.key.length === 1 && event.key !== " ") props.onType();
      return;
    }
    event.preventDefault();
  };
  /** A row of a tree shows what is below it where the next one is deeper. */
  const isOpen = (index: number) => {
    const [here, next] = [pages.at(index), pages.at(index + 1)];
    return Boolean(here?.of.depth && next?.of.depth && next.of.depth[next.i] > here.of.depth[here.i]);
  };

  const copy = async () => {
    const picked = Math.min(to - from + 1, MOST_COPIED);
    try {
      await pages.need(from, from + picked);
      const cells = (index: number, some: readonly ColumnInfo[]) => {
        const found = pages.at(index);
        return some.map((c) => (found ? exactText(valueOf(found.of, c.key, c.unit, found.i), c.unit, true) : ""));
      };
      const table = Array.from({ length: picked }, (_, i) => cells(from + i, columns));
      const heading = columns.map((c) =>
        isWords(c.unit) || c.unit === "count" ? c.label : `${c.label} (${unitWord(c.unit)})`,
      );
      const text = picked > 1 ? asTabs([heading, ...table]) : cells(row, [columns[column]])[0];
      await navigator.clipboard.writeText(text);
      props.say(picked > 1 ? `${picked.toLocaleString("en-US")} rows copied` : "Cell copied");
    } catch {
      props.say("The browser does not let this page copy");
    }
  };

  // One object for all rows and all times: a row is drawn anew only where what it shows has changed.
  const now = useRef({ click: (_: number, __: number, ___: boolean) => {}, toggle: props.onToggle });
  now.current = {
    click: (index, i, extend) => {
      const id = idAt(index);
      setActive({ row: index, column: i });
      setAnchor(extend ? (anchor ?? row) : null);
      if (!extend && id !== null) props.onOpen(id);
    },
    toggle: props.onToggle,
  };
  const acts = useMemo<RowActs>(
    () => ({
      click: (index, i, extend) => now.current.click(index, i, extend),
      toggle: (id) => now.current.toggle(id),
    }),
    [],
  );

  const drawn = [];
  for (let i = first; i < last; i += 1) drawn.push(i);
  return (
    <div
      class="grid"
      role={isTree ? "treegrid" : "grid"}
      aria-label={props.label}
      aria-rowcount={count + 1}
      aria-colcount={columns.length}
      aria-multiselectable="true"
      aria-activedescendant={row >= first && row < last ? `cell-${row}-${column}` : undefined}
      data-testid="table-grid"
      ref={scroller}
      tabIndex={0}
      onKeyDown={onKey}
    >
      <div class="grid-head" role="rowgroup" style={{ minWidth }}>
        <div class="table-head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: tracks }}>
          {columns.map((c, i) => (
            <div
              key={c.key}
              role="columnheader"
              aria-colindex={i + 1}
              class={isWords(c.unit) ? "" : "num"}
              aria-sort={answer.sort === c.key ? (props.ascending ? "ascending" : "descending") : "none"}
            >
              <button type="button" title={`${c.about}${unitLine(c.unit)}`} onClick={() => props.onSort(c)}>
                {c.label}
                <span class="sort" aria-hidden="true">
                  {answer.sort === c.key ? (props.ascending ? "▴" : "▾") : null}
                </span>
              </button>
            </div>
          ))}
        </div>
      </div>
      <div class="table-body" role="rowgroup" style={{ height: `${scrollHeight(count)}px`, minWidth }}>
        <div
          class="grid-rows"
          role="presentation"
          style={{ transform: `translateY(${view.top - (top - first) * ROW_HEIGHT}px)` }}
        >
          {drawn.map((index) => {
            const found = pages.at(index);
            return (
              <Row
                key={index}
                index={index}
                of={found?.of ?? null}
                at={found?.i ?? 0}
                name={answer.name}
                columns={columns}
                tracks={tracks}
                isOpen={isTree && found?.of.has_children?.[found.i] ? isOpen(index) : undefined}
                cursor={index === row ? column : null}
                isSelected={anchor !== null && index >= from && index <= to}
                shown={props.open}
                acts={acts}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

const WORDS: Partial<Record<Unit, string>> = {
  ns: "ns",
  moment: "ns",
  bytes: "bytes",
  bytes_per_s: "bytes/s",
  flop: "FLOP",
  flop_per_s: "FLOP/s",
  ratio: "0 to 1",
  share: "0 to 1",
};
const unitWord = (unit: Unit) => WORDS[unit] ?? unit;

const LINES: Partial<Record<Unit, string>> = {
  ns: "\nTime; the cell's tooltip has it in ns.",
  moment: "\nTime; the cell's tooltip has it in ns.",
  bytes: "\nBytes, in binary units (1 KiB is 1,024 bytes).",
  bytes_per_s: "\nBytes a second, in decimal units.",
  flop: "\nFloating point operations, in decimal units.",
  flop_per_s: "\nFloating point operations a second, in decimal units.",
  ratio: "\nRatio, shown in percent.",
  share: "\nRatio, shown in percent.",
};
const unitLine = (unit: Unit) => LINES[unit] ?? "";
