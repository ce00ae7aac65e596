// A canvas at the resolution of the screen.

/** Size the canvas for the device's pixels and answer a context that draws in CSS pixels; null while it has no size. */
export function prepareCanvas(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D | null {
  if (width <= 0 || height <= 0) return null;
  const ratio = window.devicePixelRatio || 1;
  const w = Math.round(width * ratio);
  const h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const ctx = canvas.getContext("2d", { alpha: false });
  ctx?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return ctx;
}
