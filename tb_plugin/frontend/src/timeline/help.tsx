// The keys and the mouse of the timeline.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../ui/icons";

const KEYS: [string[], string][] = [
  [["W", "S"], "zoom in, zoom out at the pointer"],
  [["A", "D"], "move left, right (also ← and →)"],
  [["↑", "↓"], "scroll the lanes"],
  [["F"], "zoom to the selected slice or the marked interval"],
  [["0"], "whole trace"],
  [["Enter"], "select the longest slice in view"],
  [[",", "."], "previous, next slice in the lane"],
  [["P", "N"], "previous, next slice of the same name"],
  [["Esc"], "clear the selection"],
  [["?"], "this help"],
];

const MOUSE: [string, string][] = [
  ["Wheel", "zoom at the pointer (with or without ctrl; pinch on a trackpad)"],
  ["Shift + wheel", "scroll the lanes; so does the wheel over their names"],
  ["Sideways wheel", "move in time"],
  ["Drag", "move in time and across lanes"],
  ["Shift + drag, or drag on the ruler", "mark an interval and read its length"],
  ["Click", "select a slice; its connections appear as arrows and buttons"],
  ["Double click", "zoom to a slice"],
  ["Drag in the strip on top", "move or resize the visible part"],
];

export function Help({ onClose }: { onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
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
        <dl>
          {KEYS.map(([keys, text]) => (
            <div key={text}>
              <dt>
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
        <dl>
          {MOUSE.map(([what, text]) => (
            <div key={what}>
              <dt>{what}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      </div>
      <p class="tip-note">
        A pale block with a solid foot stands for several slices too small to draw; the foot's height is how busy it is.
      </p>
    </dialog>
  );
}
