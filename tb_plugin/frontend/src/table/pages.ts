// The rows of one view, fetched in pages as they come into sight.

import { signal } from "@preact/signals";
import { Importing, type WorkerKey } from "../api";
import { PENDING_MS, sentence, type Loaded } from "../resource";
import { kept } from "../ui/kept";
import { getRows, identity, isText, PAGE, type RowsAnswer, type Unit, type Value } from "./requests";
import type { TableView } from "./view";

const MOST_PAGES = 60;

export class Pages {
  /** The latest answer, for what all pages share; its rows are those of some page. */
  readonly now = signal<Loaded<RowsAnswer>>({ state: "idle", value: null, detail: "" });
  /** Grows with every page that comes in. */
  readonly version = signal(0);
  /** Rows are being fetched. */
  readonly busy = signal(false);
  private pages = new Map<number, RowsAnswer>();
  private earlier = new Map<number, RowsAnswer>(); // shown until newer ones are there
  private asked = new Map<number, Promise<void>>();
  private controller = new AbortController();
  private key: WorkerKey | null = null;
  private view: TableView | null = null;
  private rows = "";
  private stamp: unknown = null;
  private of = "";

  /** Show another view, or the same one with newer data; the rows on show stay until the new ones are there. */
  open(key: WorkerKey, view: TableView, stamp: unknown): void {
    const rows = identity(key, view);
    const of = `${rows} ${String(stamp)}`;
    if (of === this.of && this.now.peek().state !== "error") return;
    const sameTable = this.view?.table === view.table && this.key === key;
    const sameRows = rows === this.rows;
    Object.assign(this, { of, rows, key, view, stamp });
    this.controller.abort();
    this.controller = new AbortController();
    this.asked.clear();
    this.earlier = sameTable ? new Map([...this.earlier, ...this.pages]) : new Map();
    this.pages = new Map();
    const known = kept.get<RowsAnswer>(key, stamp, rows);
    if (known) {
      this.busy.value = false;
      return this.take(0, known, !sameRows);
    }
    if (!sameTable) this.now.value = { state: "loading", value: null, detail: "" };
    void this.fetch(0, !sameRows);
  }

  stop(): void {
    this.controller.abort();
    this.of = "";
  }

  /** Fetch the pages that hold some rows, where they are not there. */
  need(first: number, last: number): Promise<unknown> {
    const wanted: Promise<void>[] = [];
    for (let page = Math.floor(first / PAGE); page * PAGE < last; page += 1) {
      if (!this.pages.has(page)) wanted.push(this.fetch(page, false));
    }
    return Promise.all(wanted);
  }

  /** A row by its position: the answer that holds it and its place there; null while it is not there. */
  at(index: number): { of: RowsAnswer; i: number } | null {
    const page = Math.floor(index / PAGE);
    const of = this.pages.get(page) ?? this.earlier.get(page);
    const i = index % PAGE;
    return of && i < of.id.length ? { of, i } : null;
  }

  /** `others`: these are other rows than before, so that none of the earlier pages holds. */
  private fetch(page: number, others: boolean): Promise<void> {
    const known = this.asked.get(page);
    if (known) return known;
    const { signal: abort } = this.controller;
    const asking = this.ask(page, others, abort).finally(() => {
      if (abort.aborted) return;
      this.asked.delete(page);
      this.busy.value = this.asked.size > 0;
    });
    this.asked.set(page, asking);
    this.busy.value = true;
    return asking;
  }

  private take(page: number, answer: RowsAnswer, others: boolean): void {
    if (others) this.earlier.clear();
    this.pages.set(page, answer);
    for (const old of this.pages.keys()) if (this.pages.size > MOST_PAGES && old !== page) this.pages.delete(old);
    this.now.value = { state: "ready", value: answer, detail: "" };
    this.version.value += 1;
  }

  private async ask(page: number, others: boolean, abort: AbortSignal): Promise<void> {
    const { key, view } = this;
    if (!key || !view) return;
    try {
      const answer = await getRows(key, view, page, abort);
      if (abort.aborted) return;
      if (page === 0) kept.set(key, this.stamp, this.rows, answer);
      this.take(page, answer, others);
    } catch (error) {
      if (abort.aborted) return;
      if (error instanceof Importing) {
        const { state, message: detail, canCancel } = error;
        this.now.value = { ...this.now.peek(), state, detail, canCancel };
        await new Promise((done) => setTimeout(done, PENDING_MS));
        if (!abort.aborted) await this.ask(page, others, abort);
      } else {
        this.now.value = { ...this.now.peek(), state: "error", detail: sentence(error) };
      }
    }
  }
}

/** A value of an answer; texts as texts. */
export function valueOf(of: RowsAnswer, key: string, unit: Unit, i: number): Value {
  const value = of.values[key]?.[i] ?? null;
  return isText(unit) && typeof value === "number" ? of.texts[value] : value;
}
