// The XLA tab: its address, the layered drawing, and the graph for Graphviz.

import assert from "node:assert/strict";
import { test } from "node:test";
import { dotOf } from "../src/xla/export";
import { layered } from "../src/xla/layout";
import type { GraphAnswer, GraphNode } from "../src/xla/requests";
import { decodeXla, encodeXla, INITIAL_XLA } from "../src/xla/view";

const SIZE = { width: 100, height: 40 };

function drawing(edges: [string, string][], group?: (id: string) => string | null) {
  const ids = [...new Set(edges.flat())];
  return layered(ids, edges, SIZE, group);
}

test("the address tells the whole view", () => {
  const view = {
    program: "-42",
    show: "graph" as const,
    at: 7,
    op: "fusion.1",
    depth: 4,
    opened: ["fusion.1", "fusion.2"],
    computation: "main",
  };
  const told = new Map(encodeXla(view));
  assert.deepEqual(
    decodeXla((key) => told.get(key) ?? null),
    view,
  );
  assert.deepEqual(
    decodeXla(() => null),
    INITIAL_XLA,
  );
  assert.equal(decodeXla((key) => (key === "xdepth" ? "99" : null)).depth, 6);
});

test("every arrow points down, and nodes of a layer do not overlap", () => {
  const edges: [string, string][] = [
    ["a", "c"],
    ["b", "c"],
    ["c", "d"],
    ["c", "e"],
    ["a", "e"],
    ["d", "f"],
    ["e", "f"],
  ];
  const { nodes, edges: lines, width } = drawing(edges);
  for (const [from, to] of edges) assert.ok(nodes.get(from)!.y < nodes.get(to)!.y, `${from} above ${to}`);
  const places = [...nodes.values()];
  for (const one of places) {
    assert.ok(one.x - 50 >= 0 && one.x + 50 <= width);
    for (const other of places) assert.ok(one === other || one.y !== other.y || Math.abs(one.x - other.x) >= 100);
  }
  assert.deepEqual(
    lines.map((line) => line[0][1] < line.at(-1)![1]),
    edges.map(() => true),
  );
});

test("an instruction with dozens of operands has them in rows, whose arrows pass the other rows together", () => {
  const operands = Array.from({ length: 30 }, (_, i) => `operand${i}`);
  const users = Array.from({ length: 9 }, (_, i) => `user${i}`);
  const edges = [
    ...operands.map((id): [string, string] => [id, "tuple"]),
    ...users.map((id): [string, string] => ["tuple", id]),
  ];
  const { nodes, edges: lines, width } = drawing(edges);
  const rows = (ids: string[]) => new Set(ids.map((id) => nodes.get(id)!.y)).size;
  assert.deepEqual([rows(operands), rows(users)], [5, 2]);
  for (const [from, to] of edges) assert.ok(nodes.get(from)!.y < nodes.get(to)!.y);
  assert.ok(width <= 8 * (SIZE.width + 14), `${width}`); // a row, and room for what passes it
  const passing = (y: number) =>
    new Set(
      lines
        .flat()
        .filter((at) => at[1] === y)
        .map((at) => at[0]),
    ).size;
  assert.equal(passing(nodes.get("operand29")!.y), 1);
});

test("a constant stands right above what reads it", () => {
  const { nodes } = drawing([
    ["a", "b"],
    ["b", "c"],
    ["c", "d"],
    ["zero", "d"],
  ]);
  assert.equal(nodes.get("zero")!.y, nodes.get("c")!.y);
});

test("crossings are undone", () => {
  const { nodes } = drawing([
    ["a", "y"],
    ["b", "x"],
    ["a", "b2"],
    ["b2", "y"],
  ]);
  assert.equal(Math.sign(nodes.get("a")!.x - nodes.get("b")!.x), Math.sign(nodes.get("y")!.x - nodes.get("x")!.x));
});

test("a chain is straight and a fork is symmetric", () => {
  const chain = drawing([
    ["a", "b"],
    ["b", "c"],
  ]).nodes;
  assert.equal(new Set([...chain.values()].map((one) => one.x)).size, 1);
  const fork = drawing([
    ["a", "l"],
    ["a", "r"],
  ]).nodes;
  assert.ok(Math.abs((fork.get("l")!.x + fork.get("r")!.x) / 2 - fork.get("a")!.x) < 1e-6);
});

test("arrows in a circle and to oneself do not hang", () => {
  assert.equal(
    drawing([
      ["a", "b"],
      ["b", "a"],
      ["a", "a"],
    ]).nodes.size,
    2,
  );
});

test("an empty graph has no size in height", () => {
  assert.deepEqual(layered([], [], SIZE).height, 0);
});

test("a graph for Graphviz quotes names and keeps an opened fusion together", () => {
  const node = (op: string, within: string | null = null): GraphNode =>
    ({ op, opcode: "add", shape: "f32[2]", within }) as GraphNode;
  const dot = dotOf({
    op: "a",
    nodes: [node("a"), node('b"c', "fusion")],
    edges: [["a", 'b"c', 0]],
  } as unknown as GraphAnswer);
  assert.equal(
    dot,
    [
      "digraph hlo {",
      "  node [shape=box, fontname=sans];",
      '  "a" [label="a\\nadd f32[2]", penwidth=2];',
      "  subgraph cluster_0 {",
      '    label="fusion";',
      '    "b\\"c" [label="b\\"c\\nadd f32[2]"];',
      "  }",
      '  "a" -> "b\\"c";',
      "}",
      "",
    ].join("\n"),
  );
});
