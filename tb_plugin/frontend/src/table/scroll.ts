// Which rows a scroll position shows. Browsers allow no element higher than some 16 million pixels: above that, a pixel
// of the scroll bar stands for more than one of the rows.

export const ROW_HEIGHT = 26;
const MOST_PIXELS = 12_000_000;

/** The height that the rows take in the scroll bar's measure. */
export const scrollHeight = (count: number) => Math.min(count * ROW_HEIGHT, MOST_PIXELS);

/** The position, in rows, of the upper edge of a view of some height. */
export function topRow(scrollTop: number, height: number, count: number): number {
  const whole = count * ROW_HEIGHT;
  if (whole <= MOST_PIXELS) return scrollTop / ROW_HEIGHT;
  const part = Math.min(1, scrollTop / Math.max(1, MOST_PIXELS - height));
  return (part * Math.max(0, whole - height)) / ROW_HEIGHT;
}

/** The scroll position that has a row at the upper edge: the inverse of `topRow`. */
export function scrollTopOf(row: number, height: number, count: number): number {
  const whole = count * ROW_HEIGHT;
  if (whole <= MOST_PIXELS) return row * ROW_HEIGHT;
  return Math.min(1, (row * ROW_HEIGHT) / Math.max(1, whole - height)) * (MOST_PIXELS - height);
}

/** The scroll position that brings a row into view, or the present one if it is there. */
export function reveal(row: number, scrollTop: number, height: number, count: number): number {
  const top = topRow(scrollTop, height, count);
  const rows = height / ROW_HEIGHT;
  if (row < top) return scrollTopOf(row, height, count);
  return row + 1 > top + rows ? scrollTopOf(row + 1 - rows, height, count) : scrollTop;
}
