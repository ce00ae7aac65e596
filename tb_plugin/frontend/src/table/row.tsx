// One row of a grid. It is drawn anew only where something that it shows has changed: while scrolling, most rows stay.

import { Component, type JSX } from "preact";
import { brief } from "../names";
import { Icon } from "../ui/icons";
import { Meter } from "../ui/meter";
import { exactText, shownText } from "./cells";
import { Mid } from "./mid";
import { valueOf } from "./pages";
import { isWords, type ColumnInfo, type RowsAnswer, type Value } from "./requests";

/** What stands in the column that names a row where there is no name. */
const NO_NAME: Record<string, string> = {
  name: "outside of modules",
  module: "outside of modules",
  operator: "no operator around it",
  kernel: "no run found",
  size: "size not told",
};

export interface RowActs {
  click: (index: number, column: number, extend: boolean) => void;
  toggle: (id: number) => void;
}

interface RowProps {
  index: number; // among all rows
  of: RowsAnswer | null; // the answer that holds it; null while it is not there
  at: number; // its place in the answer
  name: string; // key of the column that names rows
  columns: readonly ColumnInfo[];
  tracks: string;
  isOpen: boolean | undefined; // of a tree, where there is something below it
  cursor: number | null; // the column of the active cell, where this is its row
  isSelected: boolean;
  shown: number | null; // id of the row whose details are shown
  acts: RowActs;
}

export class Row extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    return (Object.keys(next) as (keyof RowProps)[]).some((key) => next[key] !== this.props[key]);
  }

  render(): JSX.Element {
    const { index, of, at, columns, cursor, isSelected, isOpen } = this.props;
    const id = of ? of.id[at] : null;
    const isShown = id !== null && id === this.props.shown;
    const depth = of?.depth?.[at];
    const marks = [
      index % 2 ? "odd" : "",
      cursor !== null ? "active" : "",
      isSelected ? "selected" : "",
      isShown ? "open" : "",
    ];
    return (
      <div
        role="row"
        aria-rowindex={index + 2}
        aria-selected={isSelected || isShown}
        aria-level={depth === undefined ? undefined : depth + 1}
        aria-expanded={isOpen}
        class={["grid-row", ...marks.filter(Boolean)].join(" ")}
        style={{ gridTemplateColumns: this.props.tracks }}
        data-testid="table-row"
        data-id={id}
      >
        {columns.map((column, i) => this.cell(column, i, id))}
      </div>
    );
  }

  private cell(column: ColumnInfo, i: number, id: number | null): JSX.Element {
    const { index, of, at, cursor, acts, name } = this.props;
    const value = of ? valueOf(of, column.key, column.unit, at) : undefined;
    const isName = column.key === name;
    return (
      <div
        key={column.key}
        id={`cell-${index}-${i}`}
        role="gridcell"
        aria-colindex={i + 1}
        class={`${isWords(column.unit) ? "" : "num"}${i === cursor ? " cursor" : ""}`}
        title={value === undefined ? undefined : exactText(value, column.unit)}
        data-key={column.key}
        data-value={value === undefined || value === null ? undefined : String(value)}
        onClick={(event) => {
          if (String(window.getSelection()) === "") acts.click(index, i, event.shiftKey); // else a text is being marked
        }}
      >
        {isName && of?.depth && this.twig(of.depth[at], id)}
        <Cell value={value} column={column} isName={isName} />
      </div>
    );
  }

  /** The way down a tree: room for the levels above, and a button where there is something below. */
  private twig(depth: number, id: number | null): JSX.Element {
    const { isOpen, acts } = this.props;
    return (
      <span class="twig" style={{ width: `${depth * 14 + 20}px` }}>
        {isOpen !== undefined && id !== null && (
          <button
            type="button"
            tabIndex={-1}
            class={isOpen ? "" : "closed"}
            aria-label={isOpen ? "Close" : "Open"}
            onClick={(event) => {
              event.stopPropagation();
              acts.toggle(id);
            }}
          >
            <Icon shape="chevron" />
          </button>
        )}
      </span>
    );
  }
}

function Cell({
  value,
  column,
  isName,
}: {
  value: Value | undefined;
  column: ColumnInfo;
  isName: boolean;
}): JSX.Element {
  if (value === undefined) return <span class="pending" aria-hidden="true" />;
  if (value === null && isName) return <span class="faint">{NO_NAME[column.key] ?? "not told"}</span>;
  if (value === null || value === false) return <span class="faint">{shownText(value, column.unit)}</span>;
  if (column.unit === "share") return <Meter ratio={value as number} />;
  if (column.key === "module") return <ModulePath path={String(value)} />;
  if (column.key === "precision") return <>{String(value).replace(/^(?:fp|bf|tf|int)(?=\d)/, capitals)}</>;
  if (typeof value === "string") return isName ? <Mid text={brief(value)} /> : <bdi>{value}</bdi>;
  return <>{shownText(value, column.unit)}</>;
}

const capitals = (text: string) => text.toUpperCase(); // FP32, as everywhere else

/** The module's own name first: the way to it may be long. */
function ModulePath({ path }: { path: string }): JSX.Element {
  const at = path.lastIndexOf(" / ");
  if (at < 0) return <bdi>{path}</bdi>;
  return (
    <bdi>
      {path.slice(at + 3)} <span class="faint">in {path.slice(0, at)}</span>
    </bdi>
  );
}
