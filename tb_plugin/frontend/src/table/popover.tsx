// A button that opens a small panel below it; Escape and a click elsewhere close it.

import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../ui/icons";

export function Popover(props: {
  label: string;
  title: string;
  testId: string;
  children: (close: () => void) => ComponentChildren;
}): JSX.Element {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  // Before what is typed next: keys pressed at once belong to the menu.
  useLayoutEffect(() => {
    if (!open) return;
    root.current?.querySelector<HTMLElement>(".menu input, .menu select, .menu button, .menu a")?.focus();
    const away = (event: PointerEvent) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", away);
    return () => document.removeEventListener("pointerdown", away);
  }, [open]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <div
      class="menu-anchor"
      ref={root}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !open) return;
        event.preventDefault();
        event.stopPropagation();
        close();
      }}
    >
      <button
        type="button"
        class="text-button"
        aria-haspopup="dialog"
        aria-expanded={open}
        title={props.title}
        data-testid={props.testId}
        ref={button}
        onClick={() => setOpen(!open)}
      >
        {props.label} <Icon shape="chevron" />
      </button>
      {open && (
        <div class="menu" role="dialog" aria-label={props.title}>
          {props.children(close)}
        </div>
      )}
    </div>
  );
}
