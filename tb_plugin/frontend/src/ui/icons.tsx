// The few drawings of the interface, as inline SVG: nothing is loaded for them.

import type { JSX } from "preact";

export function Logo(): JSX.Element {
  return (
    <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
      <rect x="1" y="11" width="5" height="6" rx="1" fill="currentColor" opacity=".45" />
      <rect x="7.5" y="6" width="5" height="11" rx="1" fill="currentColor" opacity=".7" />
      <rect x="14" y="2" width="5" height="15" rx="1" fill="currentColor" />
    </svg>
  );
}

type Shape =
  | "chevron"
  | "search"
  | "plus"
  | "minus"
  | "whole"
  | "fit"
  | "close"
  | "previous"
  | "next"
  | "pin"
  | "compare"
  | "more";

const PATHS: Record<Shape, string> = {
  chevron: "M4 6l4 4 4-4",
  search: "M7 12A5 5 0 107 2a5 5 0 000 10zm3.6-1.4L14 14",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  whole: "M2 4v8M14 4v8M4.5 8h7M6.5 6l-2 2 2 2M9.5 6l2 2-2 2",
  fit: "M2 4v8M14 4v8M2 8h4M14 8h-4M4.5 6l2 2-2 2M11.5 6l-2 2 2 2",
  close: "M4 4l8 8M12 4l-8 8",
  previous: "M10 3L5 8l5 5",
  next: "M6 3l5 5-5 5",
  pin: "M6 2h4l-.5 5L12 9.5H4L6.500 7zM8 9.500V14",
  compare: "M3 4h7M3 8h10M3 12h5",
  more: "M3.500 8h.01M8 8h.01M12.500 8h.01",
};

export function Icon({ shape }: { shape: Shape }): JSX.Element {
  return (
    <svg class="icon" data-shape={shape} width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <path
        d={PATHS[shape]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}

const SEVERITY_PATHS: Record<string, string> = {
  critical: "M5.500 1.500h5l4 4v5l-4 4h-5l-4-4v-5zM8 4.500v4M8 11.200v.1",
  warning: "M8 2l6.500 11.500h-13zM8 6.500v3.500M8 12v.1",
  info: "M8 1.500a6.500 6.500 0 100 13 6.500 6.500 0 000-13zM8 7.200V11M8 4.900V5",
  ok: "M8 1.500a6.500 6.500 0 100 13 6.500 6.500 0 000-13zM5 8.200l2.200 2.200L11.200 6",
  unknown: "M8 1.500a6.500 6.500 0 100 13 6.500 6.500 0 000-13zM5 8h6",
};

/** The shape says what the colour says; the word stands beside it. */
export function SeverityIcon({ severity }: { severity: string }): JSX.Element {
  return (
    <svg class="icon" data-severity={severity} width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <path
        d={SEVERITY_PATHS[severity] ?? SEVERITY_PATHS.info}
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
