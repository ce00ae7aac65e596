// The colours of the canvas, one set for each theme. The page's own are those of styles/theme.css.

import { mix, textOn } from "../color";
import { CANVAS, slicePalette, type Theme } from "../palette";
import { wordOf } from "./strips";

export interface Ink {
  canvas: string;
  text: string;
  faint: string;
  line: string;
  strong: string; // a line that divides
  hit: string; // of a search
  header: string;
  band: string;
  accent: string;
  arrow: string;
  handoff: string; // arrow from a producer to a consumer
  fills: string[];
  texts: string[]; // text colour on fills[i]
  words: { solid: Uint32Array; pale: Uint32Array; dim: Uint32Array }; // as pixels: fills, merged slices, and slices
  // that are not searched for
}

/** How much of their colour slices keep that are not searched for. */
export const DIM = 0.16;

const INKS: Partial<Record<Theme, Ink>> = {};

export function ink(theme: Theme): Ink {
  const cached = INKS[theme];
  if (cached) return cached;
  const dark = theme === "dark";
  const fills = slicePalette(theme);
  const wordsOf = (share: number) => Uint32Array.from(fills, (fill) => wordOf(mix(CANVAS[theme], fill, share)));
  const made: Ink = {
    canvas: CANVAS[theme],
    text: dark ? "#e4e7eb" : "#1c2127",
    faint: dark ? "#98a2ae" : "#5d6875",
    line: dark ? "#2a2f37" : "#e3e6ea",
    strong: dark ? "#5b6472" : "#aab2bd",
    hit: dark ? "#ffb1e6" : "#b0007a",
    header: dark ? "#1b1e24" : "#f5f6f8",
    band: dark ? "rgba(255,255,255,0.035)" : "rgba(20,40,80,0.035)",
    accent: dark ? "#7db4ff" : "#0b57d0",
    arrow: dark ? "#57d3e0" : "#00748a",
    handoff: dark ? "#e5b95c" : "#8a5a00",
    fills,
    texts: fills.map(textOn),
    words: { solid: wordsOf(1), pale: wordsOf(0.42), dim: wordsOf(DIM) },
  };
  INKS[theme] = made;
  return made;
}
