// Texts on the canvas: how wide they are and how they are cut to their room.

export const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif';

// Letters and marks that change the direction of what stands around them (and more: this is only a quick look).
const MAY_TURN = /[^\u0000-\u058f]/;

/** A text that cannot turn round what is written beside it: names of traces may hold letters and marks of any script. */
export const isolated = (text: string): string => (MAY_TURN.test(text) ? `\u2068${text}\u2069` : text);

const widths = new Map<string, number>();

/** Text width at FONT; names repeat, so it is measured once. */
export function textWidth(ctx: CanvasRenderingContext2D, text: string): number {
  let w = widths.get(text);
  if (w === undefined) {
    if (widths.size > 20_000) widths.clear();
    w = ctx.measureText(text).width;
    widths.set(text, w);
  }
  return w;
}

/** The longest beginning of a text that fits, with an ellipsis; empty where not even three letters do. */
export function fit(text: string, room: number, measure: (text: string) => number): string {
  const width = measure(text);
  if (width <= room) return text;
  // Letters differ in width: a guess by the mean, then down to what truly fits.
  for (let letters = Math.floor((text.length * (room - 6)) / width); letters >= 3; letters -= 1) {
    const cut = `${text.slice(0, letters)}…`;
    if (measure(cut) <= room) return cut;
  }
  return "";
}
