// Which columns of a table are on show, and how much room each takes.

import { useEffect, useState } from "preact/hooks";
import type { ColumnInfo, RowsAnswer, Unit } from "./requests";

// Header and rows are grids of their own: only tracks that do not depend on contents line up.
// 7 pixels a letter hold any label, with its sort mark and padding.
const WIDE: Record<string, number> = {
  stack: 340,
  input_shapes: 200,
  input_types: 160,
  category: 150,
  framework_op: 190,
  expression: 340,
};

const LEAST: Partial<Record<Unit, number>> = { flop: 96, flop_per_s: 106 };

/** Beside the columns: padding of a row. */
export const ROW_PADDING = 16;

export function leastWidth(column: ColumnInfo, isName: boolean): number {
  const text = isName ? 280 : (WIDE[column.key] ?? 130);
  const word = WIDE[column.key] ?? 96;
  const least = column.unit === "text" ? text : column.unit === "word" ? word : (LEAST[column.unit] ?? 72);
  return Math.max(least, column.label.length * 7 + 32);
}

/** The columns in the order of the table: those that `picked` names, if it names any that exist; else those that the
 * table shows by itself, of which `room` pixels may leave out the spare ones. */
export function shownColumns(
  answer: Pick<RowsAnswer, "columns" | "name" | "sort"> | null,
  picked: readonly string[] | null,
  room: number,
): ColumnInfo[] {
  const all = answer?.columns ?? [];
  const chosen = all.filter((column) => picked?.includes(column.key) || column.key === answer?.name);
  if (picked && chosen.length > 0) return chosen;
  const shown = all.filter((column) => column.shown || column.key === answer?.name);
  const rank = (column: ColumnInfo) =>
    column.key === answer?.name || column.key === answer?.sort ? 0 : (column.spare ?? 0);
  let left = room - ROW_PADDING;
  const kept = new Set<ColumnInfo>();
  for (const column of [...shown].sort((a, b) => rank(a) - rank(b))) {
    const width = leastWidth(column, column.key === answer?.name);
    if (rank(column) > 0 && width > left) continue;
    kept.add(column);
    left -= width;
  }
  return shown.filter((column) => kept.has(column));
}

/** Width of the window, which a table fills but for `around` pixels. */
export function useRoom(around: number): number {
  const [width, setWidth] = useState(window.innerWidth);
  useEffect(() => {
    const read = () => window.innerWidth > 0 && setWidth(window.innerWidth); // 0: the frame is hidden
    read();
    addEventListener("resize", read);
    return () => removeEventListener("resize", read);
  }, []);
  return width - around;
}
