// What the marked interval holds, in exact numbers.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { AreaAnswer } from "../api";
import { count, duration, exact, percent, plural } from "../format";
import { KIND_NAMES } from "../kinds";
import { brief } from "../names";
import { kindColor } from "../palette";
import { theme } from "../state";
import { Table, type Column } from "../ui/table";
import { Toggle } from "../ui/toggle";
import { timeline } from "./model";
import { lanePath } from "./tree";

type By = "name" | "kind" | "lane";

export function AreaPanel(): JSX.Element {
  const { value, state, detail } = timeline.statistics.now.value;
  const [by, setBy] = useState<By>("name");
  if (state === "error") return <p class="absent">{detail}</p>;
  if (!value) return <p class="absent">Counting.</p>;
  return (
    <div class="in-view">
      <div class="area-head">
        <Fact label="Length" ns={value.span} testId="area-span" />
        <Fact label="Busy" ns={value.busy} of={value.span} testId="area-busy" title="Time that any slice covers" />
        <Fact label="Idle" ns={value.idle} of={value.span} testId="area-idle" title="Time that no slice covers" />
        <span>
          <b data-testid="area-count" data-value={value.count}>
            {count(value.count)}
          </b>{" "}
          {value.count === 1 ? "slice" : "slices"} {timeline.marked === null ? "on all lanes" : "on the marked lanes"}
        </span>
        <span class="spacer" />
        <Toggle
          label="Sums by"
          value={by}
          choices={[
            { value: "name", label: "By name" },
            { value: "kind", label: "By kind" },
            { value: "lane", label: "By lane" },
          ]}
          onChoose={(chosen) => setBy(chosen as By)}
        />
      </div>
      <Sums area={value} by={by} key={by} />
    </div>
  );
}

function Fact(props: { label: string; ns: number; of?: number; testId: string; title?: string }): JSX.Element {
  const { label, ns, of } = props;
  return (
    <span title={`${props.title ? `${props.title}: ` : ""}${exact(ns)}`}>
      <span class="faint">{label}</span>{" "}
      <b data-testid={props.testId} data-value={ns}>
        {duration(ns)}
      </b>
      {of ? <span class="faint"> {percent(ns / of)}</span> : null}
    </span>
  );
}

const SELF = "Total without slices directly inside on the same lane: each moment of a thread counts once";
const TOTAL = "Sum of the slices' times inside the interval; slices inside others count again";

function Sums({ area, by }: { area: AreaAnswer; by: By }): JSX.Element {
  const { kinds, names, lanes } = area;
  const sums = by === "name" ? names : by === "kind" ? kinds : lanes;
  const columns = useMemo<Column[]>(() => {
    const time = (key: string, label: string, values: number[], title: string): Column => ({
      key,
      label,
      title,
      numeric: true,
      value: (i) => values[i],
      cell: (i) => duration(values[i]),
      hint: (i) => exact(values[i]),
    });
    const share = (values: number[]): Column => ({
      key: "share",
      label: "Busy",
      title: "Time that these slices cover together, of the interval",
      numeric: true,
      value: (i) => values[i],
      cell: (i) => percent(area.span > 0 ? values[i] / area.span : null),
      hint: (i) => exact(values[i]),
    });
    const many: Column = { key: "count", label: "Count", numeric: true, value: (i) => sums.count[i] };
    const mean = sums.total.map((ns, i) => ns / sums.count[i]);
    const common = [
      many,
      time("total", "Total", sums.total, TOTAL),
      time("self", "Self", sums.self, SELF),
      time("mean", "Mean", mean, "Total divided by count"),
    ];
    const kind = (values: number[]): Column => ({
      key: "kind",
      label: "Kind",
      width: by === "kind" ? undefined : 150,
      value: (i) => KIND_NAMES[values[i]] ?? "other",
      cell: (i) => (
        <>
          <span class="swatch" style={{ background: kindColor(theme.value, values[i]) }} />
          {KIND_NAMES[values[i]] ?? "other"}
        </>
      ),
    });
    if (by === "kind") return [kind(kinds.kind), ...common, share(kinds.busy)];
    if (by === "lane") {
      const path = (i: number) => lanePath(timeline.tree.peek(), lanes.lane[i]);
      return [{ key: "lane", label: "Lane", value: path, hint: path }, ...common, share(lanes.busy)];
    }
    return [
      {
        key: "name",
        label: "Name",
        value: (i) => names.name[i],
        cell: (i) => brief(names.name[i]),
        hint: (i) => names.name[i],
      },
      kind(names.kind),
      ...common,
      time("min", "Shortest", names.min, "Of the parts inside the interval"),
      time("max", "Longest", names.max, "Of the parts inside the interval"),
    ];
  }, [area, by, theme.value]);
  const left = by === "name" ? area.name_count - names.name.length : 0;
  return (
    <>
      <Table
        name={`Slices of the interval by ${by}`}
        testId="area"
        count={sums.count.length}
        columns={columns}
        initial={{ key: by === "name" ? "self" : "total", descending: true }}
        version={area}
        onOpen={by === "name" ? (i) => timeline.finder.set(names.name[i], "e") : undefined}
      />
      {left > 0 && <p class="faint">{plural(left, "more name")} with smaller totals.</p>}
    </>
  );
}
