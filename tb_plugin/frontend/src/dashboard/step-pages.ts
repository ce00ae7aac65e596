// The steps of the table, fetched in pages as they come into sight: there may be millions.

import { signal } from "@preact/signals";
import type { WorkerKey } from "../api";
import { answered } from "../resource";
import { kept } from "../ui/kept";
import { getStepsPage, type Chosen, type StepsPage } from "./requests";

const PAGE = 200;
const MOST_PAGES = 40;

export class StepPages {
  /** Grows with every page that comes in. */
  readonly version = signal(0);
  private pages = new Map<number, StepsPage>();
  private asked = new Set<number>();
  private controller = new AbortController();
  private fetchPage: ((page: number) => Promise<StepsPage>) | null = null;
  private of = "";

  /** Show other steps, or the same ones with newer data: what was there stays until the new ones come. */
  open(key: WorkerKey, chosen: Chosen, sort: { key: string; descending: boolean }, stamp: unknown): void {
    const of = JSON.stringify([key, chosen, sort, stamp]);
    if (of === this.of) return;
    this.of = of;
    this.controller.abort();
    this.controller = new AbortController();
    this.asked.clear();
    const { signal } = this.controller;
    const asked = (page: number) => `steps ${JSON.stringify([chosen, sort, page])}`;
    this.fetchPage = async (page) => {
      const found = await answered(() =>
        getStepsPage(key, chosen, sort.key, sort.descending, page * PAGE, PAGE, signal),
      );
      if (!signal.aborted) kept.set(key, stamp, asked(page), found);
      return found;
    };
    const first = kept.get<StepsPage>(key, stamp, asked(0));
    if (first) {
      this.pages.set(0, first);
      this.asked.add(0);
    }
  }

  close(): void {
    this.controller.abort();
    this.of = "";
  }

  /** Fetch the pages that hold these rows, where they are not there. */
  need(first: number, last: number): void {
    for (let page = Math.floor(first / PAGE); page * PAGE < last; page += 1) {
      if (this.asked.has(page) || !this.fetchPage) continue;
      this.asked.add(page);
      const { signal } = this.controller;
      this.fetchPage(page).then(
        (found) => {
          if (signal.aborted) return;
          this.pages.set(page, found);
          for (const old of this.pages.keys()) {
            if (this.pages.size <= MOST_PAGES || old === page) break;
            this.pages.delete(old);
            this.asked.delete(old);
          }
          this.version.value += 1;
        },
        () => {
          if (!signal.aborted) this.asked.delete(page); // the next scroll asks again; the charts tell what went wrong
        },
      );
    }
  }

  /** A row by its position: the page that holds it and its place there; null while it is not there. */
  at(row: number): { page: StepsPage; i: number } | null {
    const page = this.pages.get(Math.floor(row / PAGE));
    const i = row % PAGE;
    return page && i < page.index.length ? { page, i } : null;
  }
}
