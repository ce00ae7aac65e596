// A difference of times: with its sign, and as a bar.

import type { JSX } from "preact";
import { duration, exact } from "../format";

/** "+6.00 ms", "−6.00 ms", "0". */
export const signed = (ns: number) => (ns === 0 ? "0" : `${ns > 0 ? "+" : "−"}${duration(Math.abs(ns))}`);

/** A difference as a number over a bar that grows from the middle: to the right for more, to the left for less. */
export function Delta({ ns, most }: { ns: number; most: number }): JSX.Element {
  const width = (50 * Math.abs(ns)) / most;
  return (
    <td class="num delta" title={exact(ns)}>
      <span class="delta-area" aria-hidden="true">
        <span
          class={`delta-bar ${ns > 0 ? "more" : "less"}`}
          style={{ width: `${width}%`, left: `${ns > 0 ? 50 : 50 - width}%` }}
        />
      </span>
      {signed(ns)}
    </td>
  );
}
