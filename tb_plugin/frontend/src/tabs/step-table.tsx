// The steps as a table: every number of the bars, exact in the tooltips.

import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Chosen, StepsPage } from "../dashboard/requests";
import { StepPages } from "../dashboard/step-pages";
import { freshness, key } from "../data";
import { DEFINITIONS, NOT_MEASURED } from "../definitions";
import { exact, milliseconds } from "../format";
import { ROW_HEIGHT, Table, type Column, type Sort } from "../ui/table";
import type { By, Part } from "./step-parts";

const MOST_ROWS = 14; // before the table scrolls

/** The pages of the table, which are asked for with what stands above it. */
export interface Paged {
  pages: StepPages;
  sort: Sort;
  setSort: (sort: Sort) => void;
}

export function usePages(chosen: Chosen): Paged {
  const pages = useMemo(() => new StepPages(), []);
  const [sort, setSort] = useState<Sort>({ key: "start", descending: false });
  useEffect(() => () => pages.close(), []);
  const at = key.value;
  if (at) {
    pages.open(at, chosen, sort, freshness.value);
    pages.need(0, 1);
  }
  return { pages, sort, setSort };
}

export function StepTable(props: {
  paged: Paged;
  total: number; // of the chosen steps
  by: By;
  parts: readonly Part[];
  onOpen: (step: number) => void;
}): JSX.Element {
  const { total, by, parts } = props;
  const { pages, sort, setSort } = props.paged;
  const columns = useMemo(() => columnsOf(pages, by, parts), [by, parts]);
  return (
    <Table
      name="Steps"
      testId="step"
      count={total}
      columns={columns}
      initial={sort}
      height={(Math.min(total, MOST_ROWS) + 1) * ROW_HEIGHT + 4}
      version={pages.version.value}
      remote={{ onSort: setSort, need: (first, last) => pages.need(first, last), has: (row) => pages.at(row) !== null }}
      onOpen={(row) => {
        const found = pages.at(row);
        if (found) props.onOpen(found.page.index[found.i]);
      }}
    />
  );
}

function columnsOf(pages: StepPages, by: By, parts: readonly Part[]): Column[] {
  const read = <T,>(row: number, get: (page: StepsPage, i: number) => T): T | null => {
    const found = pages.at(row);
    return found ? get(found.page, found.i) : null;
  };
  const time = (
    key: string,
    label: string,
    title: string,
    get: (page: StepsPage, i: number) => number | null,
    sort = key,
  ): Column => ({
    key,
    sort,
    label,
    title: `${title} In ms.`,
    numeric: true,
    value: (row) => read(row, get),
    cell: (row) => milliseconds(read(row, get)),
    hint: (row) => {
      const ns = read(row, get);
      return ns === null ? NOT_MEASURED : exact(ns);
    },
  });
  return [
    {
      key: "id",
      label: "Step",
      width: 84,
      numeric: true,
      value: (row) => read(row, (page, i) => page.id[i]),
      hint: (row) => read(row, (page, i) => page.label[i]) ?? "",
    },
    {
      key: "label",
      label: "Marker",
      width: 140,
      value: (row) => read(row, (page, i) => page.label[i]),
      cell: (row) => (
        <>
          <bdi>{read(row, (page, i) => page.label[i]) ?? ""}</bdi>
          {read(row, (page, i) => !page.complete[i]) && <span class="tag">incomplete</span>}
          {read(row, (page, i) => page.inferred[i]) && <span class="tag">inferred</span>}
        </>
      ),
      hint: (row) => read(row, (page, i) => page.label[i]) ?? "",
    },
    {
      key: "start",
      label: "Start",
      title: "Since the recording or the first event began.",
      numeric: true,
      value: (row) => read(row, (page, i) => page.start[i]),
      cell: (row) => `${((read(row, (page, i) => page.start[i]) ?? 0) / 1e9).toFixed(3)} s`,
    },
    time("duration", "Duration", DEFINITIONS.stepDuration, (page, i) => page.duration[i]),
    time("host", "Host", DEFINITIONS.stepHost, (page, i) => page.host[i]),
    ...parts.map((part) =>
      time(
        part.key,
        part.label,
        part.title,
        (page, i) => page[by][part.key]?.[i] ?? null,
        by === "phase" ? `phase:${part.key}` : part.key,
      ),
    ),
  ];
}
