// The keys and the mouse of the timeline.

import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../ui/icons";

type Rows = [string[], string][];

const MOVE: Rows = [
  [["W", "S"], "zoom in, zoom out at the pointer"],
  [["A", "D"], "move left, right (also ← and →)"],
  [["↑", "↓"], "scroll the lanes"],
  [["F"], "zoom to the marked interval or the selection, again: to all"],
  [["0"], "whole trace"],
  [["[", "]"], "previous, next step"],
  [["G"], "go to step"],
];

const FIND: Rows = [
  [["Enter"], "select the longest slice in view"],
  [[",", "."], "previous, next slice in its row"],
  [["/"], "search; Enter and Shift + Enter step through the hits"],
  [["P", "N"], "previous, next hit; without a search slices of the same name"],
  [["H"], "highlight all slices of this name"],
  [["X"], "arrows of the selection, or all in view"],
  [["C"], "colour by kind, name, stream, module"],
  [["V"], "the slices in view as a table"],
  [["Esc"], "clear the marked interval, then the selection"],
];

const MARK: Rows = [
  [["M"], "put a cursor at the pointer, then the other: measure"],
  [["R"], "mark the time of the selected slice"],
  [["Z"], "zoom to the marked interval"],
  [["B"], "its steps in the step breakdown"],
  [["E"], "export: trace, CSV, PNG, Perfetto, link"],
];

const LANES: Rows = [
  [["L"], "filter lanes by text"],
  [["I"], "show or hide idle threads"],
  [["T"], "pin the lane under the pointer to the top"],
  [["O"], "compare it over the workers of the run"],
  [["U", "Y"], "unfold, fold all"],
  [["Alt ↑", "Alt ↓"], "with the names in focus: move a lane"],
  [["+", "-"], "with the names in focus: more, fewer rows"],
  [["*"], "with the names in focus: all rows of a lane, or as many as usual"],
  [["Shift ↑", "Shift ↓"], "with the names in focus: the rows above, below those shown"],
  [["?"], "this help"],
];

const MOUSE: Rows = [
  [["Wheel"], "zoom at the pointer (with or without ctrl; pinch on a trackpad or a screen)"],
  [["Shift + wheel"], "scroll the lanes; so does the wheel over their names"],
  [["Alt + wheel"], "the rows of a lane above or below those shown"],
  [["Drag"], "move in time and across lanes"],
  [["Shift + drag"], "mark an interval on some lanes; on the ruler on all; drag its edges"],
  [["Click"], "select a slice; its connections appear as arrows and buttons"],
  [["Double click"], "zoom to a slice"],
  [["Names"], "drag to reorder; drag the lower edge to resize; the pin keeps a lane on top"],
];

function Part({ title, rows, wide }: { title: string; rows: Rows; wide?: boolean }): JSX.Element {
  return (
    <section>
      <h3>{title}</h3>
      <dl class={wide ? "wide" : undefined}>
        {rows.map(([keys, text]) => (
          <div key={text}>
            <dt>{wide ? keys[0] : keys.map((key) => <kbd key={key}>{key}</kbd>)}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

export function Help({ onClose }: { onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []); // keys pressed at once belong to it
  return (
    <dialog
      ref={dialog}
      class="help"
      aria-label="Keys and mouse"
      onClose={onClose}
      onClick={(e) => e.target === dialog.current && onClose()}
    >
      <div class="help-head">
        <h2>Keys and mouse</h2>
        <button type="button" class="text-button" aria-label="Close" onClick={onClose}>
          <Icon shape="close" />
        </button>
      </div>
      <div class="help-body">
        <div>
          <Part title="Move" rows={MOVE} />
          <Part title="Find and look" rows={FIND} />
        </div>
        <div>
          <Part title="Measure and share" rows={MARK} />
          <Part title="Lanes" rows={LANES} />
        </div>
        <div>
          <Part title="Mouse and touch" rows={MOUSE} wide />
        </div>
      </div>
      <p class="tip-note">
        A pale block with a solid foot stands for several slices too small to draw; the foot's height is how busy it is.
        Arrows lead from a launch to its run (teal), from forward to backward (blue), from a producer to its consumers
        (amber).
      </p>
    </dialog>
  );
}
