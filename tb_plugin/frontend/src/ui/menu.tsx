// A button that opens a menu: arrow keys move in it, Escape and a click beside it close it.

import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export interface MenuItem {
  label: string;
  hint?: string;
  testId?: string;
  act: () => void;
}

export function Menu(props: {
  label: string; // of the button
  items: () => readonly MenuItem[]; // asked for when it opens
  note?: () => string; // above them
  testId?: string;
  kind?: "icon-button" | "text-button";
  /** Where others open it, too, and give the focus away when it closes. */
  control?: { open: boolean; onToggle: (open: boolean) => void; onClosed: () => void };
  children: ComponentChildren; // what the button shows
}): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  const { control } = props;
  const open = control ? control.open : isOpen;
  const setOpen = control ? control.onToggle : setIsOpen;
  const anchor = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const entries = () => [...(anchor.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
  // Before what is typed next: keys pressed at once belong to the menu.
  useLayoutEffect(() => {
    if (!open) return;
    entries()[0]?.focus();
    const away = (event: PointerEvent) => {
      if (!anchor.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", away);
    return () => document.removeEventListener("pointerdown", away);
  }, [open]);
  const close = () => {
    setOpen(false);
    if (control) control.onClosed();
    else button.current?.focus();
  };
  const onKey = (event: KeyboardEvent) => {
    const all = entries();
    const here = all.indexOf(document.activeElement as HTMLElement);
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (event.key === "Escape") close();
    else if (event.key === "Tab") setOpen(false);
    else if (by !== 0) all[(here + by + all.length) % all.length]?.focus();
    else if (event.key === "Home") all[0]?.focus();
    else if (event.key === "End") all.at(-1)?.focus();
    if (event.key !== "Tab" && (by !== 0 || ["Escape", "Home", "End"].includes(event.key))) {
      event.preventDefault();
      event.stopPropagation();
    }
  };
  return (
    <div class="menu-anchor" ref={anchor}>
      <button
        ref={button}
        type="button"
        class={props.kind ?? "icon-button"}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-label={props.kind === "text-button" ? undefined : props.label}
        title={props.label}
        data-testid={props.testId}
        onClick={() => setOpen(!open)}
      >
        {props.children}
      </button>
      {open && (
        <div class="menu" role="menu" aria-label={props.label} onKeyDown={onKey}>
          {props.note && <p class="faint">{props.note()}</p>}
          {props.items().map((item) => (
            <button
              key={item.label}
              type="button"
              role="menuitem"
              tabIndex={-1}
              data-testid={item.testId}
              onClick={() => {
                close();
                item.act();
              }}
            >
              {item.label}
              {item.hint && <span class="faint">{item.hint}</span>}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
