// What was answered about the shown worker, until its data change: a tab that is opened again has it in its first
// frame, and asks for nothing.

import type { WorkerKey } from "../api";

const MOST = 80; // the oldest go first

export class Kept {
  private at: WorkerKey | null = null;
  private stamp: unknown = null;
  private answers = new Map<string, unknown>();

  /** The answer to the same question about the same state of the data. */
  get<T>(at: WorkerKey, stamp: unknown, of: string): T | undefined {
    return this.isOf(at, stamp) ? (this.answers.get(of) as T | undefined) : undefined;
  }

  set(at: WorkerKey, stamp: unknown, of: string, answer: unknown): void {
    if (!this.isOf(at, stamp)) this.answers.clear();
    [this.at, this.stamp] = [at, stamp];
    this.answers.delete(of); // it becomes the newest
    this.answers.set(of, answer);
    for (const oldest of this.answers.keys()) {
      if (this.answers.size <= MOST) break;
      this.answers.delete(oldest);
    }
  }

  private isOf(at: WorkerKey, stamp: unknown): boolean {
    return this.at?.run === at.run && this.at.worker === at.worker && this.stamp === stamp;
  }
}

export const kept = new Kept();
