// Colour arithmetic: WCAG contrast, and the readable text colour on a fill.

export type Rgb = readonly [number, number, number];

/** "#rrggbb" to channels 0..255. */
export function parseHex(hex: string): Rgb {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)) as unknown as Rgb;
}

export function toHex(rgb: Rgb): string {
  return (
    "#" +
    rgb
      .map((v) =>
        Math.round(Math.min(255, Math.max(0, v)))
          .toString(16)
          .padStart(2, "0"),
      )
      .join("")
  );
}

/** sRGB channel 0..255 to linear light 0..1. */
export function linear(channel: number): number {
  const v = channel / 255;
  return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
}

/** Relative luminance, WCAG 2. */
export function luminance(hex: string): number {
  const [r, g, b] = parseHex(hex);
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

/** Contrast ratio, WCAG 2: 1 (same) to 21 (black on white). */
export function contrast(a: string, b: string): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

export const DARK_TEXT = "#0b0d10";
export const LIGHT_TEXT = "#ffffff";

/** Dark or light text, whichever reads better on the fill. */
export function textOn(fill: string): string {
  return contrast(fill, LIGHT_TEXT) >= contrast(fill, DARK_TEXT) ? LIGHT_TEXT : DARK_TEXT;
}

/** Mix of two colours, `share` of the second. */
export function mix(a: string, b: string, share: number): string {
  const x = parseHex(a);
  const y = parseHex(b);
  return toHex([0, 1, 2].map((i) => x[i] + (y[i] - x[i]) * share) as unknown as Rgb);
}
