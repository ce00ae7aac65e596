import assert from "node:assert/strict";
import { test } from "node:test";
import type { ModuleRow } from "../src/api";
import { boxesOf, find, flameOf, grouped } from "../src/charts/flame";

function row(path: string, forward: number, backward = 0): ModuleRow {
  return {
    path: path === "" ? [] : path.split("/"),
    calls: 1,
    forward_host_total_ns: null,
    forward_host_self_ns: null,
    forward_device_total_ns: forward,
    forward_device_self_ns: forward,
    backward_host_total_ns: null,
    backward_host_self_ns: null,
    backward_device_total_ns: backward,
    backward_device_self_ns: backward,
  };
}

const MODEL = [
  row("Net_0", 100, 50),
  row("Net_0/Layer_0", 30, 20),
  row("Net_0/Layer_0/Linear_0", 10, 5),
  row("Net_0/Layer_1", 40, 20),
  row("Net_0/Layer_1/Linear_1", 20, 5),
  row("Net_0/Head_0", 10),
  row("", 7, 3),
];

test("modules as a tree, with what belongs to none beside it", () => {
  const { root, rest } = flameOf(MODEL, "device");
  assert.equal(root.ns, 150);
  assert.equal(rest, 10);
  assert.deepEqual(
    root.children[0].children.map((node) => [node.name, node.ns]),
    [
      ["Layer_0", 50],
      ["Layer_1", 60],
      ["Head_0", 10],
    ],
  );
});

test("modules made the same way are one box, and so are the ones inside", () => {
  const net = grouped(flameOf(MODEL, "device").root).children[0];
  assert.deepEqual(
    net.children.map((node) => [node.name, node.count, node.ns]),
    [
      ["Layer_0–1", 2, 110],
      ["Head_0", 1, 10],
    ],
  );
  const [linear] = net.children[0].children;
  assert.deepEqual([linear.name, linear.count, linear.ns, linear.calls], ["Linear_0–1", 2, 40, 2]);
  assert.deepEqual(linear.path, ["Net_0", "Layer_0–1", "Linear_0–1"]);
});

test("the range of modules made in pairs ends at the last of the last pair", () => {
  const rows = [0, 1, 2].flatMap((i) => [
    row(`Layer_${i}`, 2),
    row(`Layer_${i}/Norm_${2 * i}`, 1),
    row(`Layer_${i}/Norm_${2 * i + 1}`, 1),
  ]);
  const [norm] = grouped(flameOf(rows, "device").root).children[0].children;
  assert.deepEqual([norm.name, norm.count, norm.ns], ["Norm_0–5", 6, 6]);
});

test("modules that only their place names stay apart from their siblings", () => {
  const rows = [0, 1].flatMap((i) => [row(`${i}`, 3), row(`${i}/${i}.0`, 2), row(`${i}/${i}.1`, 1)]);
  const [block] = grouped(flameOf(rows, "device").root).children;
  assert.equal(block.name, "0–1");
  assert.deepEqual(
    block.children.map((node) => [node.name, node.ns]),
    [
      ["0–1.0", 4],
      ["0–1.1", 2],
    ],
  );
});

test("modules with the same name but other insides stay apart", () => {
  const rows = [row("A_0", 5), row("A_0/B_0", 5), row("A_1", 5)];
  assert.deepEqual(
    grouped(flameOf(rows, "device").root).children.map((node) => node.name),
    ["A_0", "A_1"],
  );
});

test("grouping changes no sum", () => {
  const total = (node: { ns: number; children: { ns: number }[] }) =>
    node.children.reduce((sum, child) => sum + child.ns, 0);
  const { root } = flameOf(MODEL, "device");
  assert.equal(total(grouped(root).children[0]), total(root.children[0]));
});

test("boxes lie inside their parents, and a box can be found by its path", () => {
  const { root } = flameOf(MODEL, "device");
  const { boxes, depth, hidden } = boxesOf(root);
  assert.deepEqual([boxes.length, depth, hidden], [7, 4, 0]);
  const layer = boxes.find((box) => box.node.name === "Layer_1");
  assert.ok(layer && Math.abs(layer.left - 50 / 150) < 1e-12 && Math.abs(layer.width - 60 / 150) < 1e-12);
  assert.equal(find(root, ["Net_0", "Layer_1"]).name, "Layer_1");
  assert.equal(find(root, ["Net_0", "gone"]), root);
});

test("modules without time have no box", () => {
  assert.deepEqual(boxesOf(flameOf([row("A_0", 0)], "device").root).boxes, []);
  assert.deepEqual(flameOf([], "host").root.ns, 0);
});
