// The search field of the timeline: what to look for, by which rules, and the way through the hits.

import type { JSX } from "preact";
import { count } from "../format";
import { Icon } from "../ui/icons";
import { focusCanvas } from "./lane-filter";
import { timeline } from "./model";

export const SEARCH_FIELD = "timeline-search";

const RULES: { rule: string; label: string; title: string }[] = [
  { rule: "r", label: ".*", title: "Regular expression (RE2)" },
  { rule: "c", label: "Aa", title: "Match case" },
  { rule: "a", label: "args", title: "Search in arguments too" },
];

export function SearchBox(): JSX.Element {
  const { finder } = timeline;
  const text = finder.text.value;
  const rules = finder.rules.value;
  const { state, value, detail } = finder.found.now.value;
  const failed = text !== "" && state === "error";
  return (
    <div class={`search-box${failed ? " failed" : ""}`} role="search">
      <Icon shape="search" />
      <input
        id={SEARCH_FIELD}
        type="text"
        value={text}
        placeholder="Search slices (/)"
        aria-label="Search slices by name"
        aria-invalid={failed}
        title={failed ? detail : rules.includes("e") ? "This very name" : undefined}
        data-testid="timeline-search"
        onInput={(event) => finder.set(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") void timeline.stepHit(event.shiftKey ? -1 : 1);
          else if (event.key === "Escape") {
            finder.set("");
            focusCanvas();
          } else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      {RULES.map(({ rule, label, title }) => (
        <button
          key={rule}
          type="button"
          class="rule"
          aria-pressed={rules.includes(rule)}
          aria-label={`${label}: ${title}`}
          title={title}
          onClick={() => finder.toggle(rule)}
        >
          {label}
        </button>
      ))}
      {text !== "" && (
        <>
          <span class="hits" role="status" data-testid="search-hits">
            {failed ? detail : value ? hitsText(value.count, finder.at.value) : "…"}
          </span>
          <button
            type="button"
            class="rule"
            aria-label="Previous hit"
            title="Previous hit (P)"
            disabled={!value?.count}
            onClick={() => void timeline.stepHit(-1)}
          >
            <Icon shape="previous" />
          </button>
          <button
            type="button"
            class="rule"
            aria-label="Next hit"
            title="Next hit (N)"
            data-testid="search-next"
            disabled={!value?.count}
            onClick={() => void timeline.stepHit(1)}
          >
            <Icon shape="next" />
          </button>
          <button type="button" class="rule" aria-label="Clear the search" onClick={() => finder.set("")}>
            <Icon shape="close" />
          </button>
        </>
      )}
    </div>
  );
}

function hitsText(hits: number, at: number): string {
  if (hits === 0) return "none";
  return at >= 0 ? `${count(at + 1)} of ${count(hits)}` : count(hits);
}
