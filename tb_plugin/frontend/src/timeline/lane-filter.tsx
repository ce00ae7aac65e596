// The field that filters lanes by text, and how many it leaves.

import type { JSX } from "preact";
import { plural } from "../format";
import { adjust, part } from "../state";
import { Icon } from "../ui/icons";
import { timeline } from "./model";

export const FILTER_FIELD = "lane-filter";

const filterText = part("filter");
const idleShown = part("idle");

export function LaneFilter(): JSX.Element {
  const filter = filterText.value;
  const idle = idleShown.value;
  const { matches, hidden } = timeline.arranged.value;
  const note =
    filter !== ""
      ? `${plural(matches, "lane")} found`
      : hidden > 0
        ? `${plural(hidden, "idle thread")} hidden`
        : idle
          ? "idle threads shown"
          : "";
  return (
    <div class="minimap-label">
      <label class="field">
        <Icon shape="search" />
        <input
          id={FILTER_FIELD}
          type="text"
          value={filter}
          placeholder="Filter lanes (L)"
          aria-label="Filter lanes by text"
          data-testid="lane-filter"
          onInput={(event) => adjust({ filter: event.currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key !== "Escape" && event.key !== "Enter") return;
            if (event.key === "Escape") adjust({ filter: "" });
            focusCanvas();
            event.stopPropagation();
          }}
        />
      </label>
      {(hidden > 0 || (idle && filter === "")) && filter === "" ? (
        <button
          type="button"
          class="note-button"
          data-testid="idle-toggle"
          title={idle ? "Hide idle threads (I)" : "Show idle threads (I)"}
          onClick={() => timeline.desk.toggleIdle()}
        >
          {note}
        </button>
      ) : (
        <span class="faint" role="status">
          {note}
        </span>
      )}
    </div>
  );
}

/** The keys of the timeline act again. */
export function focusCanvas(): void {
  document.querySelector<HTMLElement>("[data-testid=timeline-canvas]")?.focus();
}
