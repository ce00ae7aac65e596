// Tables as CSV text, as the exports of the server write it.

import type { Value } from "./table/requests";

/** A text that a spreadsheet would take for a formula gets an apostrophe before it. */
export const guarded = (text: string) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);

/** A header and one line a row; a cell of what was not measured is empty. */
export function csv(header: readonly string[], rows: readonly (readonly Value[])[]): string {
  const cell = (value: Value) => {
    if (value === null) return "";
    const text = typeof value === "string" ? guarded(value) : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [header, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}
