import assert from "node:assert/strict";
import { test } from "node:test";
import { asTabs, exactText, halves, quantityOf, shownText } from "../src/table/cells";
import { shownColumns } from "../src/table/columns";
import type { Unit } from "../src/table/requests";
import { reveal, ROW_HEIGHT, scrollHeight, scrollTopOf, topRow } from "../src/table/scroll";
import { decodeTable, encodeTable, INITIAL_TABLE, ofOtherWorker, type TableView } from "../src/table/view";

const full: TableView = {
  table: "operators",
  by: "shapes",
  sort: "device_self_ns",
  ascending: true,
  text: "aten::(mm|add)=&%",
  regex: true,
  bounds: [
    { column: "count", least: 5, most: null },
    { column: "host_share", least: null, most: 0.25 },
  ],
  columns: ["name", "count"],
  open: 1234,
  within: { by: "name", id: 17 },
  levels: 1000,
  toggled: [3, 14],
};

const through = (view: TableView) => {
  const values = new Map(encodeTable(view).filter(([, value]) => value));
  return { values, view: decodeTable((key) => values.get(key) ?? null) };
};

test("a view survives the address, and the first one needs no keys", () => {
  assert.deepEqual(through(full).view, full);
  assert.deepEqual(through({ ...INITIAL_TABLE, ascending: true }).view, { ...INITIAL_TABLE, ascending: true });
  assert.deepEqual(through(INITIAL_TABLE).view, INITIAL_TABLE);
  assert.equal(through(INITIAL_TABLE).values.size, 0);
});

test("what the address says wrongly is as at the beginning", () => {
  const values: Record<string, string> = { table: "x", trow: "-1", twithin: "17", twhere: "a,b:x:,:1:2", tlevels: "?" };
  assert.deepEqual(
    decodeTable((key) => values[key] ?? null),
    INITIAL_TABLE,
  );
});

test("another worker has other rows", () => {
  const other = ofOtherWorker(full);
  assert.deepEqual([other.open, other.within, other.toggled], [null, null, []]);
  assert.deepEqual([other.table, other.by, other.text], [full.table, full.by, full.text]);
});

test("values by their unit; what was not measured is a dash, never 0", () => {
  assert.equal(shownText(null, "ns"), "—");
  assert.equal(shownText(0, "ns"), "0 ns");
  assert.equal(shownText(12_345, "moment"), "12.3 µs");
  assert.equal(shownText(0.0004, "share"), "< 0.1 %");
  assert.equal(shownText(0.0033, "number"), "0.0033");
  assert.equal(shownText(1010, "id"), "1010");
  assert.equal(shownText(false, "flag"), "no");
  assert.equal(exactText(1_234_567, "ns"), "1,234,567 ns");
  assert.equal(exactText(1_234_567, "ns", true), "1234567");
  assert.equal(exactText(null, "ns", true), "");
  assert.equal(exactText(0.5, "ratio"), "50 %");
});

test("columns that have no room are left out by their rank, none that was chosen", () => {
  const column = (key: string, unit: Unit, spare: number) => ({ key, label: key, unit, about: "", shown: true, spare });
  const columns = [
    column("name", "text", 0), // 280 pixels, the others 72, the row 16
    column("a", "ns", 2),
    column("b", "ns", 1),
    column("c", "ns", 0),
    column("d", "ns", 2),
  ];
  const answer = { columns, name: "name", sort: "c" };
  const keys = (room: number, picked: string[] | null = null, sort = "c") =>
    shownColumns({ ...answer, sort }, picked, room).map(({ key }) => key);
  assert.deepEqual(keys(16 + 280 + 4 * 72), ["name", "a", "b", "c", "d"]);
  assert.deepEqual(keys(16 + 280 + 4 * 72 - 1), ["name", "a", "b", "c"]);
  assert.deepEqual(keys(16 + 280 + 2 * 72), ["name", "b", "c"]);
  assert.deepEqual(keys(0), ["name", "c"]);
  assert.deepEqual(keys(0, null, "d"), ["name", "c", "d"]); // the sorted one
  assert.deepEqual(keys(0, ["a", "d"]), ["name", "a", "d"]);
});

test("quantities as people write them", () => {
  assert.equal(quantityOf("10 us", "ns"), 10_000);
  assert.equal(quantityOf("1.5ms", "ns"), 1_500_000);
  assert.equal(quantityOf("2µs", "moment"), 2000);
  assert.equal(quantityOf("64 KiB", "bytes"), 65_536);
  assert.equal(quantityOf("5 %", "share"), 0.05);
  assert.equal(quantityOf("1e3", "count"), 1000);
  assert.equal(quantityOf("  ", "ns"), null);
  assert.ok(Number.isNaN(quantityOf("ten", "ns")));
  assert.ok(Number.isNaN(quantityOf("5 apples", "ns")));
});

test("both halves of a long text make up the text, and no sign is cut in two", () => {
  for (const text of [
    "short",
    "a".repeat(300),
    `${"x".repeat(40)}🚀${"y".repeat(13)}`,
    `${"w ".repeat(30)}`,
    "\u202e".repeat(99),
  ]) {
    const [head, tail] = halves(text);
    assert.equal(head + tail, text);
    assert.ok(!/^[\udc00-\udfff]/.test(tail));
    assert.ok(!/\s$/.test(head) || tail === "");
  }
});

test("what is copied keeps its rows and cells, whatever names hold", () => {
  assert.equal(
    asTabs([
      ["a\tb", "1"],
      ["c\nd", "2"],
    ]),
    "a b\t1\nc d\t2",
  );
});

test("every row can be scrolled to, however many there are", () => {
  const height = 500;
  for (const count of [3, 1000, 1_000_000, 50_000_000]) {
    assert.ok(scrollHeight(count) <= 16_000_000);
    assert.equal(topRow(0, height, count), 0);
    const most = Math.max(0, scrollHeight(count) - height);
    assert.ok(topRow(most, height, count) + height / ROW_HEIGHT >= count - 1e-6);
    for (const row of [0, Math.floor(count / 3), Math.floor(count / 2)]) {
      assert.ok(Math.abs(topRow(scrollTopOf(row, height, count), height, count) - row) < 0.01);
    }
  }
});

test("a row that is in view does not move the view; one beyond its edge is brought in", () => {
  const [height, count] = [260, 1000];
  assert.equal(reveal(5, 0, height, count), 0);
  assert.equal(reveal(10, 0, height, count), ROW_HEIGHT);
  assert.equal(reveal(3, 100 * ROW_HEIGHT, height, count), 3 * ROW_HEIGHT);
});
