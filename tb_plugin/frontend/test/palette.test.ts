import assert from "node:assert/strict";
import { test } from "node:test";
import { contrast, DARK_TEXT, LIGHT_TEXT, textOn } from "../src/color";
import {
  ACTIVITY_COLORS,
  CANVAS,
  colorIndex,
  nameHash,
  PHASE_COLORS,
  SERIES_COLORS,
  SHADES,
  slicePalette,
  type Theme,
} from "../src/palette";
import { ACTIVITIES, Kind, PHASES } from "../src/kinds";
import { distance, VISIONS } from "./color-vision";

const THEMES: Theme[] = ["light", "dark"];

test("contrast is that of WCAG: black on white is 21, a colour on itself 1", () => {
  assert.equal(Math.round(contrast("#000000", "#ffffff") * 100) / 100, 21);
  assert.equal(contrast("#17669a", "#17669a"), 1);
});

test("text on any fill has a contrast of 4.5 or more", () => {
  for (const theme of THEMES) {
    const fills = [
      ...slicePalette(theme),
      ...Object.values(ACTIVITY_COLORS[theme]),
      ...Object.values(PHASE_COLORS[theme]),
    ];
    for (const fill of fills) {
      assert.ok([DARK_TEXT, LIGHT_TEXT].includes(textOn(fill)));
      // The best of black and white is never below 4.58; near-black loses a little of that.
      assert.ok(contrast(fill, textOn(fill)) >= 4.3, `${theme} ${fill}`);
    }
  }
});

test("fills and lines have a contrast of 3 or more to the canvas, in every shade", () => {
  for (const theme of THEMES) {
    const all = [...slicePalette(theme), ...Object.values(ACTIVITY_COLORS[theme]), ...SERIES_COLORS[theme]];
    for (const fill of all)
      assert.ok(contrast(fill, CANVAS[theme]) >= 3, `${theme} ${fill} ${contrast(fill, CANVAS[theme])}`);
  }
});

test("classes and phases of one bar stay apart with every colour vision", () => {
  for (const theme of THEMES) {
    // Compute replaces forward, backward and optimizer: the four never stand in one bar.
    const together = PHASES.filter((phase) => phase !== "compute");
    const keras = PHASES.filter((phase) => !["forward", "backward", "optimizer"].includes(phase));
    const sets: string[][] = [
      ACTIVITIES.map((name) => ACTIVITY_COLORS[theme][name]),
      together.map((name) => PHASE_COLORS[theme][name]),
      keras.map((name) => PHASE_COLORS[theme][name]),
    ];
    for (const [vision, matrix] of Object.entries(VISIONS)) {
      for (const colors of sets) {
        for (let i = 0; i < colors.length; i += 1) {
          for (let j = i + 1; j < colors.length; j += 1) {
            const far = distance(colors[i], colors[j], matrix);
            assert.ok(far >= 0.08, `${theme}, ${vision}: ${colors[i]} and ${colors[j]} are ${far.toFixed(3)} apart`);
          }
        }
      }
    }
  }
});

test("a slice's colour: phases by name, other kinds by kind, unknown kinds as other", () => {
  const fills = slicePalette("light");
  assert.equal(fills[colorIndex(Kind.PHASE, "backward")], PHASE_COLORS.light.backward);
  assert.equal(Math.floor(colorIndex(Kind.KERNEL, "gemm") / SHADES), Kind.KERNEL);
  assert.equal(Math.floor(colorIndex(200, "x") / SHADES), Kind.OTHER);
  assert.ok(colorIndex(Kind.PHASE, "toString") < fills.length);
  for (const kind of Object.values(Kind)) assert.ok(fills[colorIndex(kind, "name")]);
});

test("names that differ only in numbers share a shade", () => {
  assert.equal(nameHash("layer3.0.conv1"), nameHash("layer4.2.conv2"));
  assert.notEqual(nameHash("aten::mm"), nameHash("aten::add"));
});
