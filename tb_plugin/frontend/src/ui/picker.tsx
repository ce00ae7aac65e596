// A drop-down that can be searched: a button that names the choice, and a list with a filter when it is long.

import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { count } from "../format";
import { isolated } from "../timeline/text";
import { Icon } from "./icons";

export interface Choice {
  id: string;
  label: string;
  detail?: string;
  live?: boolean;
  warn?: boolean;
}

const SEARCH_FROM = 8; // choices
const MOST_SHOWN = 1000;
const PAGE = 12; // choices in view

/** The choices that contain every part of the query: "7" is first of all rank 7, not rank 17. Else in their order. */
export function filterChoices(choices: readonly Choice[], query: string): Choice[] {
  const parts = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (parts.length === 0) return [...choices];
  const found = choices.filter((choice) => {
    const text = `${choice.label} ${choice.detail ?? ""} ${choice.id}`.toLowerCase();
    return parts.every((part) => text.includes(part));
  });
  const isExact = (choice: Choice) => {
    const words = choice.label.toLowerCase().split(/\s+/);
    return parts.every((part) => words.includes(part));
  };
  return [...found.filter(isExact), ...found.filter((choice) => !isExact(choice))];
}

export function Picker(props: {
  label: string;
  testId: string;
  value: string | null;
  choices: readonly Choice[];
  onChoose: (id: string) => void;
}): JSX.Element {
  const { choices, value } = props;
  const [open, setOpen] = useState(false);
  const [query, setQuery] = useState("");
  const [active, setActive] = useState(0);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const found = open ? filterChoices(choices, query) : [];
  const shown = found.slice(0, MOST_SHOWN);
  const current = choices.find((choice) => choice.id === value);

  const show = () => {
    setQuery("");
    const at = choices.findIndex((choice) => choice.id === value);
    setActive(at < MOST_SHOWN ? Math.max(0, at) : 0);
    setOpen(true);
  };
  const hide = (focus: boolean) => {
    setOpen(false);
    if (focus) button.current?.focus();
  };
  const choose = (choice: Choice | undefined) => {
    if (!choice) return;
    hide(true);
    if (choice.id !== value) props.onChoose(choice.id);
  };

  // Before what is typed next: keys pressed at once belong to the list.
  useLayoutEffect(() => {
    if (!open) return;
    (input.current ?? list.current)?.focus();
    const outside = (event: PointerEvent) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [open]);
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [open, active]);

  const onKey = (event: KeyboardEvent) => {
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: PAGE, PageUp: -PAGE };
    const by = moves[event.key];
    if (by !== undefined) setActive(Math.max(0, Math.min(active + by, shown.length - 1)));
    else if (event.key === "Enter") choose(shown[active]);
    else if (event.key === "Escape") hide(true);
    else if (event.key === "Tab") hide(false);
    else return;
    if (event.key !== "Tab") event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div class="picker" ref={root}>
      <button
        ref={button}
        type="button"
        class="picker-button"
        data-testid={props.testId}
        aria-haspopup="listbox"
        aria-expanded={open}
        title={current ? [isolated(current.label), current.detail].filter(Boolean).join(" · ") : undefined}
        onClick={() => (open ? hide(true) : show())}
        onKeyDown={(event) => {
          if (!open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
            event.preventDefault();
            show();
          }
        }}
      >
        <span class="picker-label">{props.label}</span> {current?.live && <span class="dot live" aria-hidden="true" />}
        <span class="picker-value">{current?.label ?? value ?? "none"}</span>
        <Icon shape="chevron" />
      </button>
      {open && (
        <div class="picker-popup" onKeyDown={onKey}>
          {choices.length > SEARCH_FROM && (
            <label class="picker-search">
              <Icon shape="search" />
              <input
                ref={input}
                type="text"
                role="combobox"
                aria-expanded="true"
                aria-controls={`${id}-list`}
                aria-activedescendant={`${id}-${active}`}
                aria-label={`Search ${props.label.toLowerCase()}s`}
                placeholder={`Search ${count(choices.length)} ${props.label.toLowerCase()}s`}
                value={query}
                onInput={(event) => {
                  setQuery(event.currentTarget.value);
                  setActive(0);
                }}
              />
            </label>
          )}
          <div
            class="picker-list"
            role="listbox"
            id={`${id}-list`}
            ref={list}
            tabIndex={-1}
            aria-label={props.label}
            aria-activedescendant={`${id}-${active}`}
          >
            {shown.map((choice, i) => (
              <div
                key={choice.id}
                id={`${id}-${i}`}
                role="option"
                class={`option${choice.id === value ? " current" : ""}`}
                aria-selected={i === active}
                onPointerMove={() => i !== active && setActive(i)}
                onClick={() => choose(choice)}
              >
                <span class={`dot ${choice.live ? "live" : choice.warn ? "warn" : "none"}`} aria-hidden="true" />
                <span class="option-label">{choice.label}</span>
                <span class="option-detail">{choice.live ? `live · ${choice.detail ?? ""}` : choice.detail}</span>
              </div>
            ))}
            {found.length === 0 && <p class="option-none">Nothing matches “{query}”.</p>}
            {found.length > shown.length && (
              <p class="option-none">{count(found.length - shown.length)} more: type to narrow the list.</p>
            )}
          </div>
        </div>
      )}
    </div>
  );
}
