// The canvas as a table: the longest slices in view.

import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { count, duration, exact, plural } from "../format";
import { KIND_NAMES } from "../kinds";
import { brief } from "../names";
import { Table, type Column } from "../ui/table";
import { timeline } from "./model";
import { lanePath } from "./tree";

const MOST_IN_VIEW = 300;

interface Seen {
  row: number;
  lane: number;
  depth: number;
  name: string;
  kind: number;
  start: number;
  dur: number;
}

/** The longest single slices in view, and how many are merged beyond that. */
function slicesInView(): { seen: Seen[]; merged: number } {
  const range = timeline.range.value;
  const seen: Seen[] = [];
  let merged = 0;
  for (const lane of timeline.visibleLanes()) {
    const slices = timeline.tiles.detail.get(lane)?.slices;
    if (!slices) continue;
    for (let depth = 0; depth < slices.rows.length - 1; depth += 1) {
      for (let i = slices.rows[depth]; i < slices.rows[depth + 1]; i += 1) {
        const start = slices.start[i];
        const dur = slices.dur[i];
        if (start + dur < range.t0 || start > range.t1) continue;
        if (slices.count[i] > 1) merged += slices.count[i];
        else seen.push({ row: slices.row[i], lane, depth, name: slices.name[i], kind: slices.kind[i], start, dur });
      }
    }
  }
  seen.sort((a, b) => b.dur - a.dur);
  return { seen: seen.slice(0, MOST_IN_VIEW), merged };
}

/** The canvas as a table: for those who cannot see it, and to find the longest by name. */
export function InView(): JSX.Element {
  const { value: found } = useComputed(() => {
    void timeline.drawn.value;
    void timeline.bands.value;
    return slicesInView();
  });
  const { seen, merged } = found;
  const zero = timeline.whole.value.t0;
  const columns: Column[] = [
    {
      key: "name",
      label: "Slice",
      value: (i) => seen[i].name,
      cell: (i) => brief(seen[i].name),
      hint: (i) => seen[i].name,
    },
    { key: "kind", label: "Kind", width: 130, value: (i) => KIND_NAMES[seen[i].kind] ?? "other" },
    {
      key: "lane",
      label: "Lane",
      width: 220,
      value: (i) => timeline.tree.value.byId.get(seen[i].lane)?.info.name ?? "",
      hint: (i) => lanePath(timeline.tree.value, seen[i].lane),
    },
    {
      key: "start",
      label: "Start",
      numeric: true,
      value: (i) => seen[i].start,
      cell: (i) => duration(seen[i].start - zero),
      hint: (i) => exact(seen[i].start - zero),
    },
    {
      key: "duration",
      label: "Duration",
      numeric: true,
      value: (i) => seen[i].dur,
      cell: (i) => duration(seen[i].dur),
      hint: (i) => exact(seen[i].dur),
    },
  ];
  return (
    <div class="in-view">
      <p class="faint">
        The {plural(seen.length, "longest slice")} of the visible lanes in this interval
        {merged > 0 ? `; ${count(merged)} more are too small to tell apart at this zoom.` : "."}
      </p>
      <Table
        name="Slices in view"
        testId="in-view-slice"
        count={seen.length}
        columns={columns}
        initial={{ key: "duration", descending: true }}
        onOpen={(i) => void timeline.jump(seen[i].row, seen[i])}
        version={found}
      />
    </div>
  );
}
