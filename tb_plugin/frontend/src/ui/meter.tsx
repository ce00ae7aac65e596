// A ratio as text over a faint bar.

import type { JSX } from "preact";
import { percent } from "../format";

export function Meter({ ratio }: { ratio: number | null }): JSX.Element {
  return (
    <span class="meter">
      <span class="meter-bar" style={{ width: `${Math.round(Math.min(1, ratio ?? 0) * 1000) / 10}%` }} />
      <span class="meter-text">{percent(ratio)}</span>
    </span>
  );
}
