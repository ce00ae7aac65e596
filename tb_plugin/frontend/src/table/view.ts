// Which table is on show, how it is grouped, sorted and filtered, and the row that is open; as keys of the address.

export const TABLES = [
  "kernels",
  "operators",
  "modules",
  "memory",
  "collectives",
  "allocations",
  "launches",
  "annotations",
  "requests",
  "batches",
  "hlo",
  "hlo_profile",
] as const;
export type TableName = (typeof TABLES)[number];

/** Tables whose rows are a tree. */
export const isTree = (table: TableName) => table === "modules" || table === "hlo_profile";

/** Rows whose value lies between both ends, in the column's own unit (ns, bytes, 0..1). */
export interface Bound {
  column: string;
  least: number | null;
  most: number | null;
}

/** A row of a grouped table, named by one of its occurrences. */
export interface Group {
  by: string;
  id: number;
}

export interface TableView {
  table: TableName;
  by: string | null; // null: the table's first grouping; "none": every occurrence
  sort: string | null; // null: as the table says
  ascending: boolean;
  text: string;
  regex: boolean;
  bounds: readonly Bound[];
  columns: readonly string[] | null; // those shown, in their order; null: as the table says
  open: number | null; // id of the row whose details are shown
  within: Group | null; // only the occurrences of this group
  levels: number; // of a tree, that are open
  toggled: readonly number[]; // rows of a tree that are open or closed against their level
}

export const SINGLE = "none";

export const INITIAL_TABLE: TableView = {
  table: "kernels",
  by: null,
  sort: null,
  ascending: false,
  text: "",
  regex: false,
  bounds: [],
  columns: null,
  open: null,
  within: null,
  levels: 2,
  toggled: [],
};

/** The same view of another worker: its rows are others. */
export const ofOtherWorker = (view: TableView): TableView => ({ ...view, open: null, within: null, toggled: [] });

const MOST_TOGGLED = 100; // links stay short enough to send

export function decodeTable(get: (key: string) => string | null): TableView {
  const table = get("table") as TableName | null;
  const [sort, direction] = (get("tsort") ?? "").split(",");
  return {
    table: table !== null && TABLES.includes(table) ? table : INITIAL_TABLE.table,
    by: get("tby"),
    sort: sort || null,
    ascending: direction === "up",
    text: get("tfind") ?? "",
    regex: get("tregex") === "1",
    bounds: decodeBounds(get("twhere")),
    columns: get("tcols")?.split(",").filter(Boolean) ?? null,
    open: whole(get("trow")),
    within: decodeGroup(get("twithin")),
    levels: whole(get("tlevels")) ?? INITIAL_TABLE.levels,
    toggled: (get("ttoggled") ?? "").split(",").flatMap((part) => whole(part) ?? []),
  };
}

/** Keys and values; null for what is as at the beginning. */
export function encodeTable(view: TableView): [string, string | null][] {
  const sort = view.sort === null ? (view.ascending ? ",up" : null) : `${view.sort}${view.ascending ? ",up" : ""}`;
  return [
    ["table", view.table === INITIAL_TABLE.table ? null : view.table],
    ["tby", view.by],
    ["tsort", sort],
    ["tfind", view.text],
    ["tregex", view.regex ? "1" : null],
    ["twhere", encodeBounds(view.bounds)],
    ["tcols", view.columns?.join(",") ?? null],
    ["trow", view.open === null ? null : String(view.open)],
    ["twithin", view.within && `${view.within.by}:${view.within.id}`],
    ["tlevels", view.levels === INITIAL_TABLE.levels ? null : String(view.levels)],
    ["ttoggled", view.toggled.slice(0, MOST_TOGGLED).join(",")],
  ];
}

/** "total_ns:1000:,count::5", as the server reads it. */
export const encodeBounds = (bounds: readonly Bound[]) =>
  bounds.map(({ column, least, most }) => `${column}:${least ?? ""}:${most ?? ""}`).join(",");

function decodeBounds(text: string | null): Bound[] {
  return (text ?? "").split(",").flatMap((part) => {
    const [column, least, most] = part.split(":");
    const bound = { column, least: number(least), most: number(most) };
    return column && (bound.least !== null || bound.most !== null) ? [bound] : [];
  });
}

function decodeGroup(text: string | null): Group | null {
  const at = text?.lastIndexOf(":") ?? -1;
  const id = text && at > 0 ? whole(text.slice(at + 1)) : null;
  return text && id !== null ? { by: text.slice(0, at), id } : null;
}

const whole = (text: string | null) => (text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null);

function number(text: string | undefined): number | null {
  return text === undefined || text === "" || !Number.isFinite(Number(text)) ? null : Number(text);
}
