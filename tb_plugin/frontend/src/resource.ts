// One thing fetched from the server: its last good value, and what the newest attempt to fetch it came to.

import { signal, type Signal } from "@preact/signals";
import { ApiError, Importing } from "./api";

export interface Loaded<T> {
  state: "idle" | "loading" | "importing" | "cancelled" | "ready" | "error";
  value: T | null; // kept while newer data loads or fails to
  detail: string;
  canCancel?: boolean; // the import that is waited for
}

/** Before what the server still makes is asked for again: short, because the server itself waits before it says so. */
export const PENDING_MS = 300;

const CANCELLED_RETRY_MS = 1000; // somebody may begin it again, here or in another page

/** Counts the imports that came to an end: the listing then knows more about the worker. */
export const imports = signal(0);

const ready = <T>(value: T): Loaded<T> => ({ state: "ready", value, detail: "" });

export class Resource<T> {
  readonly now: Signal<Loaded<T>>;
  private controller: AbortController | null = null;
  private retry: ReturnType<typeof setTimeout> | null = null;
  private next: ((signal: AbortSignal) => Promise<T>) | null = null; // to fetch once what is under way is there

  /** @param known an answer that is there already */
  constructor(known?: T) {
    this.now = signal(known === undefined ? { state: "idle", value: null, detail: "" } : ready(known));
  }

  /** An answer that is there already takes the place of what was asked for. */
  show(known: T): void {
    this.stop();
    const { state, value } = this.now.peek();
    if (state !== "ready" || value !== known) this.now.value = ready(known);
  }

  /** Forget everything: another worker is shown. */
  reset(): void {
    this.stop();
    this.now.value = { state: "idle", value: null, detail: "" };
  }

  /**
   * Fetch anew. An attempt under way is abandoned; "still importing" is asked again until it is not.
   *
   * @param isRefresh the same is asked for again, of newer data: what is under way is let come first. Were it abandoned,
   *   a page would show nothing of a job whose data change more often than a slow server answers.
   */
  async load(fetcher: (signal: AbortSignal) => Promise<T>, isRefresh = false): Promise<void> {
    if (isRefresh && this.busy) {
      this.next = fetcher;
      return;
    }
    this.stop();
    const controller = new AbortController();
    this.controller = controller;
    const before = this.now.peek();
    if (before.state !== "importing" && before.state !== "cancelled") {
      const state = before.value === null ? "loading" : "ready";
      if (before.state !== state) this.now.value = { ...before, state, detail: "" };
    }
    try {
      const value = await fetcher(controller.signal);
      if (controller.signal.aborted) return;
      if (this.now.peek().state === "importing") imports.value += 1;
      this.now.value = ready(value);
    } catch (error) {
      if (controller.signal.aborted) return;
      const { value } = this.now.peek();
      if (error instanceof Importing) {
        this.now.value = { state: error.state, value, detail: error.message, canCancel: error.canCancel };
        const after = error.state === "cancelled" ? CANCELLED_RETRY_MS : PENDING_MS;
        this.retry = setTimeout(() => void this.load(fetcher), after);
      } else {
        this.now.value = { state: "error", value, detail: sentence(error) };
      }
    } finally {
      if (this.controller === controller) this.controller = null;
    }
    if (this.next) await this.load(this.next);
  }

  get busy(): boolean {
    return this.controller !== null;
  }

  private stop(): void {
    this.controller?.abort();
    this.controller = this.next = null;
    if (this.retry !== null) clearTimeout(this.retry);
    this.retry = null;
  }
}

/** The answer to what is asked once, by a click or a key: while the server still makes it, it is asked again. */
export async function answered<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Importing) || error.state === "cancelled") throw error;
      await new Promise((resolve) => setTimeout(resolve, PENDING_MS));
    }
  }
}

export function sentence(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  return error instanceof Error ? error.message : String(error);
}
