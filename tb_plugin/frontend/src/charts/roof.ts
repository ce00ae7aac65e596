// The lines of a roofline on axes of logarithms.

const ROOM = 1.3; // a point at the edge would be half of one

/** Whole powers of ten around values, with room to them, for axes of logarithms. */
export function decades(values: readonly number[]): [number, number] {
  const low = Math.floor(Math.log10(Math.min(...values) / ROOM));
  const high = Math.ceil(Math.log10(Math.max(...values) * ROOM));
  return [10 ** low, 10 ** high];
}

/** The roof for one peak: up along the memory's bandwidth to the ridge, then flat. */
export function roofLine(peak: number, bytesPerS: number, from: number, to: number): [number, number][] {
  const ridge = peak / bytesPerS;
  const points: [number, number][] = from < ridge ? [[from, from * bytesPerS]] : [[from, peak]];
  if (from < ridge && ridge < to) points.push([ridge, peak]);
  return [...points, [to, Math.min(peak, to * bytesPerS)]];
}
