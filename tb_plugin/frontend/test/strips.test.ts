import assert from "node:assert/strict";
import { test } from "node:test";
import { PARTS, Strips, wordOf } from "../src/timeline/strips";

// What a browser has: enough to hold the pixels.
class Image {
  constructor(
    readonly data: Uint8ClampedArray,
    readonly width: number,
  ) {}
  get height(): number {
    return this.data.length / 4 / this.width;
  }
}
Object.assign(globalThis, { ImageData: Image });

const RED = wordOf("#ff0000");
const BLUE = wordOf("#0000fe");

/** The pixel rows of a strip as text: r, b, or a dot where nothing is. */
function rows(strips: Strips, strip: number): string[] {
  const { image } = strips as unknown as { image: Image };
  return Array.from({ length: PARTS }, (_, part) => {
    let text = "";
    for (let x = 0; x < image.width; x += 1) {
      const at = 4 * ((strip * PARTS + part) * image.width + x);
      const [r, , b, alpha] = image.data.subarray(at, at + 4);
      text += alpha === 0 ? "." : r === 255 ? "r" : b === 254 ? "b" : "?";
    }
    return text;
  });
}

test("a rectangle fills its pixels, from below as far as it is busy", () => {
  const strips = new Strips();
  strips.begin(6, 1);
  const strip = strips.add();
  strips.fill(strip, 1, 4, 1, RED);
  strips.fill(strip, 4.2, 4.3, PARTS, BLUE);
  assert.deepEqual(rows(strips, strip), ["....b.", "....b.", "....b.", ".rrrb."]);
});

test("nothing is filled outside the edges and outside the view", () => {
  const strips = new Strips();
  strips.begin(4, 2);
  const strip = strips.add();
  strips.fill(strip, -5, 50, PARTS, RED, 1, 3);
  strips.fill(strip, 9, 12, PARTS, BLUE);
  assert.equal(rows(strips, strip)[0], "..rrrr..");
});

test("many strips keep what was filled, and a new frame begins empty", () => {
  const strips = new Strips();
  strips.begin(2, 1);
  for (let i = 0; i < 70; i += 1) strips.fill(strips.add(), i % 2, (i % 2) + 1, PARTS, RED);
  assert.deepEqual(
    [0, 69].map((i) => rows(strips, i)[0]),
    ["r.", ".r"],
  );
  strips.begin(2, 1);
  assert.equal(rows(strips, strips.add())[0], "..");
});
