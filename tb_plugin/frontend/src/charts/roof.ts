// The lines of a roofline on axes of logarithms.

/** Whole powers of ten around values, for axes of logarithms. */
export function decades(values: readonly number[]): [number, number] {
  const low = Math.floor(Math.log10(Math.min(...values)) + 1e-9);
  const high = Math.ceil(Math.log10(Math.max(...values)) - 1e-9);
  return [10 ** low, 10 ** Math.max(high, low + 1)];
}

/** The roof for one peak: up along the memory's bandwidth to the ridge, then flat. */
export function roofLine(peak: number, bytesPerS: number, from: number, to: number): [number, number][] {
  const ridge = peak / bytesPerS;
  const points: [number, number][] = from < ridge ? [[from, from * bytesPerS]] : [[from, peak]];
  if (from < ridge && ridge < to) points.push([ridge, peak]);
  return [...points, [to, Math.min(peak, to * bytesPerS)]];
}
