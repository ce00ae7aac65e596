import assert from "node:assert/strict";
import { test } from "node:test";
import { contrast, mix, textOn } from "../src/color";
import { CANVAS, colorIndex, GROUP_COLORS, groupIndex, slicePalette, type Theme } from "../src/palette";
import { clearGroups, colorsOf, groupsIn } from "../src/timeline/coloring";
import type { LaneSlices } from "../src/timeline/decode";
import { DIM, ink } from "../src/timeline/ink";

function slices(names: string[], stream: string[] | null = null): LaneSlices {
  const n = names.length;
  return {
    rows: Int32Array.of(0, n),
    start: Float64Array.from(names, (_, i) => i),
    dur: new Float64Array(n).fill(1),
    count: new Int32Array(n).fill(1),
    busy: Float64Array.from(names, (_, i) => i + 1),
    kind: new Uint8Array(n).fill(8),
    row: Int32Array.from(names, (_, i) => i),
    name: names,
    color: Uint8Array.from(names, (name) => colorIndex(8, name)),
    groups: stream && { stream, module: names.map(() => "") },
  };
}

test("by name: one name has one colour, whatever its numbers, and as many names as colours have their own", () => {
  clearGroups();
  const [a, b, c] = colorsOf(slices(["layer3.conv", "gemm", "layer4.conv"]), "name");
  assert.equal(a, c);
  assert.notEqual(a, b);
  const letters = Array.from({ length: GROUP_COLORS - 2 }, (_, i) => String.fromCharCode(97 + i));
  const more = colorsOf(slices(["gemm", ...letters]), "name");
  assert.equal(more[0], b);
  assert.equal(new Set([...more, a]).size, GROUP_COLORS);
});

test("by stream: groups get colours of their own, slices without a group the grey one", () => {
  clearGroups();
  const color = colorsOf(slices(["a", "b", "c", "d"], ["s 7", "s 20", "", "s 7"]), "stream");
  assert.deepEqual([...color], [groupIndex(0), groupIndex(1), groupIndex(null), groupIndex(0)]);
});

test("until the server has told groups the colours are those of the kinds", () => {
  const some = slices(["a"]);
  assert.equal(colorsOf(some, "module"), some.color);
  assert.deepEqual(groupsIn([some], "module", 1), []);
});

test("the legend names the groups that take most time", () => {
  clearGroups();
  const found = groupsIn([slices(["a", "b", "c"], ["x", "y", "x"])], "stream", 1);
  assert.deepEqual(
    found.map((one) => one.group),
    ["x"],
  );
});

test("colours of groups read on both themes, and their texts on them", () => {
  for (const theme of ["light", "dark"] as Theme[]) {
    const fills = slicePalette(theme);
    for (let n = 0; n <= GROUP_COLORS; n += 1) {
      const fill = fills[groupIndex(n === GROUP_COLORS ? null : n)];
      assert.match(fill, /^#[0-9a-f]{6}$/);
      assert.ok(contrast(fill, CANVAS[theme]) >= 3, `${theme} group ${n}: ${fill}`);
      assert.ok(contrast(fill, textOn(fill)) >= 4.5, `${theme} text on group ${n}: ${fill}`);
    }
  }
});

test("marks of hits and arrows stand out from the canvas and from dimmed slices", () => {
  for (const theme of ["light", "dark"] as Theme[]) {
    const { hit, arrow, handoff, accent, canvas } = ink(theme);
    const dim = slicePalette(theme).map((fill) => mix(canvas, fill, DIM));
    for (const color of [hit, arrow, handoff, accent]) assert.ok(contrast(color, canvas) >= 3, `${theme} ${color}`);
    for (const color of dim) assert.ok(contrast(hit, color) >= 3, `${theme} ${color}`);
  }
});
