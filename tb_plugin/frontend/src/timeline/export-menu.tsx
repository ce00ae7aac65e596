// The menu that takes the visible part of the timeline elsewhere.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { exportAddress } from "../api";
import { key, shown } from "../data";
import { outerAddress } from "../host";
import { sentence } from "../resource";
import { part } from "../state";
import { Icon } from "../ui/icons";
import { openInPerfetto, save, savePicture } from "./export";
import { focusCanvas } from "./lane-filter";
import { timeline } from "./model";
import { picture } from "./picture";
import type { Range } from "./viewport";

const filter = part("filter");

/** What is exported: the marked interval and its lanes, else all that the view and the filter leave. */
function chosen(): { range: Range; lanes: readonly number[] | null; what: string } {
  const measure = timeline.measure.value;
  if (measure) return { range: measure, lanes: timeline.marked, what: "the marked interval" };
  const filtered = filter.value === "" ? null : [...timeline.arranged.value.tree.byId.keys()];
  const lanes =
    filtered && filtered.filter((id) => id >= 0 && timeline.tree.peek().byId.get(id)?.children.length === 0);
  return { range: timeline.range.value, lanes, what: "the visible interval" };
}

function fileName(ending: string): string {
  const { run, worker } = shown.peek();
  const words = [run?.name ?? "run", worker?.rank != null ? `rank${worker.rank}` : ""].filter(Boolean).join("-");
  return `${words.replace(/[^\w.-]+/g, "_").slice(0, 80)}.${ending}`;
}

export function ExportMenu({ open, onToggle }: { open: boolean; onToggle: (open: boolean) => void }): JSX.Element {
  const menu = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    menu.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    const away = (event: PointerEvent) => {
      if (!menu.current?.parentElement?.contains(event.target as Node)) onToggle(false);
    };
    document.addEventListener("pointerdown", away);
    return () => document.removeEventListener("pointerdown", away);
  }, [open]);
  const run = (act: () => Promise<void> | void) => async () => {
    onToggle(false);
    focusCanvas();
    try {
      timeline.notice.value = "";
      await act();
    } catch (error) {
      timeline.notice.value = sentence(error);
    }
  };
  const part = open ? chosen() : null;
  const at = key.value;
  const onKey = (event: KeyboardEvent) => {
    const items = [...(menu.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    const here = items.indexOf(document.activeElement as HTMLElement);
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (event.key === "Escape") {
      onToggle(false);
      focusCanvas();
    } else if (by !== 0) items[(here + by + items.length) % items.length]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const item = (label: string, hint: string, testId: string, act: () => Promise<void> | void) => (
    <button type="button" role="menuitem" data-testid={testId} onClick={() => void run(act)()}>
      {label}
      <span class="faint">{hint}</span>
    </button>
  );
  return (
    <div class="menu-anchor">
      <button
        type="button"
        class="text-button"
        aria-haspopup="menu"
        aria-expanded={open}
        title="Export (E)"
        data-testid="export"
        onClick={() => onToggle(!open)}
      >
        Export <Icon shape="chevron" />
      </button>
      {part && at && (
        <div class="menu" role="menu" aria-label={`Export ${part.what}`} ref={menu} onKeyDown={onKey}>
          <p class="faint">Of {part.what}</p>
          {item("Trace", "Chrome and Perfetto JSON", "export-trace", () =>
            save(exportAddress(at, part.range, part.lanes, "trace"), fileName("pt.trace.json")),
          )}
          {item("Table", "CSV, one line a slice", "export-csv", () =>
            save(exportAddress(at, part.range, part.lanes, "csv"), fileName("csv")),
          )}
          {item("Picture", "PNG of what is on the screen", "export-png", () =>
            savePicture(picture(timeline), fileName("png")),
          )}
          {item("Open in Perfetto", "ui.perfetto.dev, in a new page", "export-perfetto", () =>
            openInPerfetto(at, part.range, part.lanes, fileName("json")),
          )}
          {item("Copy link", "reopens this very view", "export-link", async () => {
            await navigator.clipboard.writeText(outerAddress());
            timeline.said.value = "Link copied";
          })}
        </div>
      )}
    </div>
  );
}
