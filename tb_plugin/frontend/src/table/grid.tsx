// A grid of any number of rows, of which only those in sight are fetched and drawn.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Icon } from "../ui/icons";
import { Meter } from "../ui/meter";
import { asTabs, exactText, shownText } from "./cells";
import { Mid } from "./mid";
import { valueOf, type Pages } from "./pages";
import { isText, type ColumnInfo, type RowsAnswer, type Unit, type Value } from "./requests";
import { reveal, ROW_HEIGHT, scrollHeight, topRow } from "./scroll";

const EXTRA_ROWS = 10;
const MOST_COPIED = 10_000;

const isWords = (unit: Unit) => isText(unit) || unit === "flag";

/** What stands in the column that names a row where there is no name. */
const NO_NAME: Record<string, string> = {
  name: "outside of modules",
  module: "outside of modules",
  operator: "no operator around the launch",
  kernel: "no run found",
  size: "size not told",
};

// Header and rows are grids of their own: only tracks that do not depend on contents line up.
// 7 pixels a letter hold any label, with its sort mark and padding.
const WIDE: Record<string, number> = { stack: 340, input_shapes: 200, input_types: 160 };

const leastWidth = (column: ColumnInfo, isName: boolean) => {
  const text = isName ? 280 : (WIDE[column.key] ?? 130);
  const least = column.unit === "text" ? text : column.unit === "word" ? 96 : 72;
  return Math.max(least, column.label.length * 7 + 32);
};

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
  onType: (letter: string) => void;
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

  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const read = () => setView({ top: element.scrollTop, height: element.clientHeight - ROW_HEIGHT });
    const observer = new ResizeObserver(read);
    observer.observe(element);
    element.addEventListener("scroll", read, { passive: true });
    read();
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
  const minWidth = `${columns.reduce((sum, c) => sum + leastWidth(c, c.key === answer.name), 16)}px`;

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
    else if (!command && !event.altKey && event.key.length === 1 && event.key !== " ") props.onType(event.key);
    else return;
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
                  {answer.sort === c.key ? (props.ascending ? "▴" : "▾") : ""}
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
            const id = found && found.of.id[found.i];
            const depth = found?.of.depth?.[found.i] ?? 0;
            const branch = isTree && found?.of.has_children?.[found.i] ? isOpen(index) : undefined;
            const selected = anchor !== null && index >= from && index <= to;
            return (
              <div
                key={index}
                role="row"
                aria-rowindex={index + 2}
                aria-selected={selected || (id !== null && id === props.open)}
                aria-level={isTree ? depth + 1 : undefined}
                aria-expanded={branch}
                class={`grid-row${index % 2 ? " odd" : ""}${index === row ? " active" : ""}${selected ? " selected" : ""}${
                  id !== null && id === props.open ? " open" : ""
                }`}
                style={{ gridTemplateColumns: tracks }}
                data-testid="table-row"
                data-id={id}
              >
                {columns.map((c, i) => {
                  const value = found ? valueOf(found.of, c.key, c.unit, found.i) : undefined;
                  const isName = c.key === answer.name;
                  return (
                    <div
                      key={c.key}
                      id={`cell-${index}-${i}`}
                      role="gridcell"
                      aria-colindex={i + 1}
                      class={`${isWords(c.unit) ? "" : "num"}${index === row && i === column ? " cursor" : ""}`}
                      title={value === undefined ? undefined : exactText(value, c.unit)}
                      data-key={c.key}
                      data-value={value === undefined || value === null ? undefined : String(value)}
                      onClick={(event) => {
                        if (String(window.getSelection()) !== "" || id === null) return; // a text is being marked
                        setActive({ row: index, column: i });
                        setAnchor(event.shiftKey ? (anchor ?? row) : null);
                        if (!event.shiftKey) props.onOpen(id);
                      }}
                    >
                      {isTree && isName && (
                        <span class="twig" style={{ width: `${depth * 14 + 20}px` }}>
                          {branch !== undefined && id !== null && (
                            <button
                              type="button"
                              tabIndex={-1}
                              class={branch ? "" : "closed"}
                              aria-label={branch ? "Close" : "Open"}
                              onClick={(event) => {
                                event.stopPropagation();
                                props.onToggle(id);
                              }}
                            >
                              <Icon shape="chevron" />
                            </button>
                          )}
                        </span>
                      )}
                      <Cell value={value} column={c} isName={isName} />
                    </div>
                  );
                })}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function Cell({
  value,
  column,
  isName,
}: {
  value: Value | undefined;
  column: ColumnInfo;
  isName: boolean;
}): JSX.Element {
  if (value === undefined) return <span class="pending" aria-hidden="true" />;
  if (value === null && isName) return <span class="faint">{NO_NAME[column.key] ?? "not told"}</span>;
  if (value === null || value === false) return <span class="faint">{shownText(value, column.unit)}</span>;
  if (column.unit === "share") return <Meter ratio={value as number} />;
  if (column.key === "module") return <ModulePath path={String(value)} />;
  if (typeof value === "string") return isName ? <Mid text={value} /> : <bdi>{value}</bdi>;
  return <>{shownText(value, column.unit)}</>;
}

/** The module's own name first: the way to it may be long. */
function ModulePath({ path }: { path: string }): JSX.Element {
  const at = path.lastIndexOf(" / ");
  if (at < 0) return <bdi>{path}</bdi>;
  return (
    <bdi>
      {path.slice(at + 3)} <span class="faint">in {path.slice(0, at)}</span>
    </bdi>
  );
}

const WORDS: Partial<Record<Unit, string>> = {
  ns: "ns",
  moment: "ns",
  bytes: "bytes",
  bytes_per_s: "bytes/s",
  ratio: "0 to 1",
  share: "0 to 1",
};
const unitWord = (unit: Unit) => WORDS[unit] ?? unit;

const LINES: Partial<Record<Unit, string>> = {
  ns: "\nTime; the cell's tooltip has it in ns.",
  moment: "\nTime; the cell's tooltip has it in ns.",
  bytes: "\nBytes, in binary units (1 KiB is 1,024 bytes).",
  bytes_per_s: "\nBytes a second, in decimal units.",
  ratio: "\nRatio, shown in percent.",
  share: "\nRatio, shown in percent.",
};
const unitLine = (unit: Unit) => LINES[unit] ?? "";
