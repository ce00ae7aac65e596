// A small table of a card: a heading over each column, and all of its rows at once.

import type { ComponentChildren, JSX } from "preact";
import { count } from "../format";

export interface Heading {
  label: ComponentChildren;
  title?: string; // definition
  isText?: boolean; // no numbers stand below it; nor below the first one, which tells what the rows are
}

/** `kind`: classes of the table; `children`: the rows. */
export function PlainTable(props: {
  headings: readonly Heading[];
  kind?: string;
  testId?: string;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <div class="scroll-x">
      <table class={`plain ${props.kind ?? ""}`} data-testid={props.testId}>
        <thead>
          <tr>
            {props.headings.map(({ label, title, isText }, i) => (
              <th key={i} scope="col" class={i > 0 && !isText ? "num" : undefined} title={title}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{props.children}</tbody>
      </table>
    </div>
  );
}

/** What a table leaves out; nothing where it has all. `saved`: the rows in the CSV file of the card. */
export function FirstOf(props: { shown: number; saved: number; total: number }): JSX.Element | null {
  const { shown, saved, total } = props;
  if (total <= shown) return null;
  return (
    <p class="chart-note">
      The first {count(shown)} of {count(total)}
      {saved === total && "; the CSV file has all"}
    </p>
  );
}
