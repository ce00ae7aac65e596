// The rectangles of a frame as pixels: each row of slices is a strip of few pixel rows that is stretched over its place
// when drawn. A frame then costs the same however many slices it shows; thousands of fillRect calls take several times
// as long to rasterise where no GPU helps.

/** Pixel rows of a strip: a merged rectangle is filled from below by how busy it is, in so many parts. */
export const PARTS = 4;
const STRIPS_AT_ONCE = 32; // by which the image grows

export class Strips {
  private words = new Uint32Array(0); // one a pixel, in the machine's order of bytes
  private image: ImageData | null = null;
  private canvas: HTMLCanvasElement | null = null;
  private width = 0; // device pixels
  private ratio = 1;
  private used = 0;

  /** A new frame of so many CSS pixels, at so many device pixels each. */
  begin(width: number, ratio: number): void {
    const pixels = Math.max(1, Math.round(width * ratio));
    if (pixels !== this.width) this.image = null;
    this.width = pixels;
    this.ratio = ratio;
    this.used = 0;
  }

  /** An empty strip. */
  add(): number {
    const needed = (this.used + 1) * PARTS * this.width;
    if (!this.image || needed > this.words.length) this.grow(needed);
    this.words.fill(0, this.used * PARTS * this.width, needed);
    return this.used++;
  }

  private grow(needed: number): void {
    const step = STRIPS_AT_ONCE * PARTS * this.width;
    const bytes = new Uint8ClampedArray(Math.ceil(needed / step) * step * 4);
    const words = new Uint32Array(bytes.buffer);
    if (this.image) words.set(this.words);
    this.words = words;
    this.image = new ImageData(bytes, this.width);
  }

  /** Fill from x0 to x1 (CSS pixels, at least one device pixel), `parts` from below; only between two edges. */
  fill(strip: number, x0: number, x1: number, parts: number, word: number, from = 0, to = Infinity): void {
    const begin = Math.round(x0 * this.ratio);
    const end = Math.max(begin + 1, Math.round(x1 * this.ratio));
    const a = Math.max(0, begin, Math.round(from * this.ratio));
    const b = Math.min(this.width, end, Math.round(to * this.ratio));
    if (b <= a) return;
    const { words, width } = this;
    for (let part = PARTS - parts; part < PARTS; part += 1) {
      const row = (strip * PARTS + part) * width;
      for (let i = row + a; i < row + b; i += 1) words[i] = word;
    }
  }

  /** All strips are filled: make them drawable. */
  commit(): void {
    if (!this.image || this.used === 0) return;
    this.canvas ??= document.createElement("canvas");
    const { canvas, image } = this;
    if (canvas.width !== image.width || canvas.height !== image.height) {
      canvas.width = image.width;
      canvas.height = image.height;
    }
    canvas.getContext("2d")?.putImageData(image, 0, 0, 0, 0, image.width, this.used * PARTS);
  }

  /** Draw a strip at a height, over the whole width. */
  draw(ctx: CanvasRenderingContext2D, strip: number, y: number, height: number): void {
    if (!this.canvas) return;
    const width = this.width / this.ratio;
    ctx.drawImage(this.canvas, 0, strip * PARTS, this.width, PARTS, 0, y, width, height);
  }
}

/** "#rrggbb" as the word of an opaque pixel. */
export function wordOf(hex: string): number {
  const rgb = parseInt(hex.slice(1), 16);
  const little = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;
  const [r, g, b] = [(rgb >> 16) & 255, (rgb >> 8) & 255, rgb & 255];
  return (little ? (255 << 24) | (b << 16) | (g << 8) | r : (r << 24) | (g << 16) | (b << 8) | 255) >>> 0;
}
