// The button under a chart whose time axis leaves out a few very long steps.

import type { JSX } from "preact";
import type { Cut } from "../charts/scale";
import { duration, plural } from "../format";

/** Says that the axis is cut, and undoes it. */
export function CutNote({ cut, open, onToggle }: { cut: Cut; open: boolean; onToggle: () => void }): JSX.Element {
  return (
    <button
      type="button"
      class="text-button cut"
      onClick={onToggle}
      title={`The longest takes ${duration(cut.longest)}`}
    >
      {open ? "Cut the longest steps off" : `${plural(cut.above, "step")} above the axis: show`}
    </button>
  );
}
