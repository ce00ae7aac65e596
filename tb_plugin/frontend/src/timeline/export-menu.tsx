// The menu that takes the visible part of the timeline elsewhere.

import type { JSX } from "preact";
import { exportAddress } from "../api";
import { key } from "../data";
import { outerAddress } from "../host";
import { sentence } from "../resource";
import { part } from "../state";
import { fileName } from "../ui/card";
import { Icon } from "../ui/icons";
import { Menu, type MenuItem } from "../ui/menu";
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

export function ExportMenu({ open, onToggle }: { open: boolean; onToggle: (open: boolean) => void }): JSX.Element {
  const run = (act: () => Promise<void> | void) => async () => {
    try {
      timeline.notice.value = "";
      await act();
    } catch (error) {
      timeline.notice.value = sentence(error);
    }
  };
  const items = (): MenuItem[] => {
    const part = chosen();
    const at = key.value;
    const item = (label: string, hint: string, testId: string, act: () => Promise<void> | void) => ({
      label,
      hint,
      testId,
      act: () => void run(act)(),
    });
    if (!at) return [];
    return [
      item("Trace", "Chrome and Perfetto JSON", "export-trace", () =>
        save(exportAddress(at, part.range, part.lanes, "trace"), fileName("", "pt.trace.json")),
      ),
      item("Table", "CSV, one line a slice", "export-csv", () =>
        save(exportAddress(at, part.range, part.lanes, "csv"), fileName("", "csv")),
      ),
      item("Picture", "PNG of what is on the screen", "export-png", () =>
        savePicture(picture(timeline), fileName("", "png")),
      ),
      item("Open in Perfetto", "ui.perfetto.dev, in a new page", "export-perfetto", () =>
        openInPerfetto(at, part.range, part.lanes, fileName("", "json")),
      ),
      item("Copy link", "reopens this very view", "export-link", async () => {
        await navigator.clipboard.writeText(outerAddress());
        timeline.said.value = "Link copied";
      }),
    ];
  };
  return (
    <Menu
      label="Export (E)"
      kind="text-button"
      testId="export"
      note={() => `Of ${chosen().what}`}
      items={items}
      control={{ open, onToggle, onClosed: focusCanvas }}
    >
      Export <Icon shape="chevron" />
    </Menu>
  );
}
