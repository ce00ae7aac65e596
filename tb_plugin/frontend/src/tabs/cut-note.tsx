// The button under a chart whose time axis leaves out a few very long steps.

import type { JSX } from "preact";
import type { Cut } from "../charts/scale";
import { duration, plural } from "../format";

/** Says that the axis is cut, and undoes it. `sampled`: not all steps are drawn, so how many are cut is not known. */
export function CutNote(props: { cut: Cut; open: boolean; sampled?: boolean; onToggle: () => void }): JSX.Element {
  const { cut, open, sampled, onToggle } = props;
  const above = sampled ? "Steps" : plural(cut.above, "step");
  return (
    <button type="button" class="text-button cut" onClick={onToggle}>
      {open ? "Cut the longest steps off" : `${above} above the axis, up to ${duration(cut.longest)}: show`}
    </button>
  );
}
