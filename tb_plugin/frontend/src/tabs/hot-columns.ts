// What the lists of the Summary tab share.

import { duration, exact } from "../format";
import { ROW_HEIGHT, type Column } from "../ui/table";

const MOST_ROWS = 12;

export const tableHeight = (rows: number) => (Math.min(rows, MOST_ROWS) + 1) * ROW_HEIGHT + 4;

export function time(key: string, label: string, title: string, value: (row: number) => number | null): Column {
  return { key, label, title, numeric: true, value, cell: (i) => duration(value(i)), hint: (i) => exact(value(i)) };
}
