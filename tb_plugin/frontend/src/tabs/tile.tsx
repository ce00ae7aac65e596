// One of the large numbers on top of a page.

import type { ComponentChildren, JSX } from "preact";
import { DASH } from "../format";

export interface TileProps {
  label: string;
  value: string;
  hint: string;
  note?: ComponentChildren;
  testId: string;
  raw?: number | null; // the exact value, for who reads the page by program
}

export function Tile({ label, value, hint, note, testId, raw }: TileProps): JSX.Element {
  return (
    <div class="tile" title={hint}>
      <div class="tile-label">{label}</div>
      <div class={`tile-value${value === DASH ? " none" : ""}`} data-testid={testId} data-value={raw ?? undefined}>
        {value}
      </div>
      <div class="tile-note">{note ?? " "}</div>
    </div>
  );
}
