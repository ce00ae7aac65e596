// Typing and dragging ask for an answer many times a second: the first time is answered at once, the others when the
// user rests.

export class Pace {
  private timer: ReturnType<typeof setTimeout> | null = null;
  private last = -Infinity;

  /** @param restMs what counts as rest */
  constructor(private readonly restMs: number) {}

  /** Do it now after a rest, else once no other comes for so long. */
  run(action: () => void): void {
    this.stop();
    const now = performance.now();
    const rested = now - this.last >= this.restMs;
    this.last = now;
    if (rested) action();
    else this.timer = setTimeout(action, this.restMs);
  }

  /** Do not do what waits. */
  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }
}
