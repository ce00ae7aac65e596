// The search: what is looked for (in the address), what was found, and which hit is looked at.

import { computed, effect, signal } from "@preact/signals";
import { search, type Query, type SearchAnswer, type WorkerKey } from "../api";
import { Pace } from "../pace";
import { answered, Resource, sentence } from "../resource";
import { adjust, nav } from "../state";

export const MARKS = 600; // parts of the minimap in which hits are marked
const REST_MS = 150;

export interface Hit {
  row: number;
  lane: number;
  depth: number;
  start: number;
  dur: number;
}

export class Finder {
  readonly found = new Resource<SearchAnswer>();
  readonly at = signal(-1); // the hit looked at, of all
  readonly text = computed(() => nav.value.find);
  readonly rules = computed(() => nav.value.rules);

  /** What stands out on the canvas: the rows of the page that is held, and the names that were hit. */
  readonly marked = computed(() => {
    const answer = this.text.value === "" ? null : this.found.now.value.value;
    if (!answer) return null;
    // Where arguments are searched a slice may be a hit while others of its name are not.
    const names = this.rules.value.includes("a") ? new Set<string>() : new Set(answer.names);
    return { rows: new Set(answer.row), names };
  });

  private key: WorkerKey | null = null;
  private readonly pace = new Pace(REST_MS);
  private searched: Promise<void> = Promise.resolve(); // once what was typed last has been looked for
  private question = {}; // another object once something else is looked for: what was answered before is not taken
  private grown = false; // since what is under way was asked for

  get query(): Query {
    const rules = this.rules.peek();
    const has = (letter: string) => rules.includes(letter);
    return { text: this.text.peek(), regex: has("r"), matchCase: has("c"), args: has("a"), exact: has("e") };
  }

  /** Follow a worker and the address. */
  start(worker: () => WorkerKey | null): () => void {
    return effect(() => {
      const at = worker();
      void this.text.value;
      void this.rules.value;
      this.key = at;
      this.question = {};
      this.grown = false;
      this.at.value = -1;
      this.pace.stop();
      if (!at || this.text.value === "") {
        this.found.reset();
        this.searched = Promise.resolve();
        return;
      }
      this.searched = new Promise((done) => {
        const load = () => this.found.load((s) => search(at, this.query, 0, MARKS, s));
        this.pace.run(
          () =>
            void load()
              .then(done)
              .then(() => this.catchUp()),
        );
      });
    });
  }

  /** Search again in what has grown; the hit looked at stays the same one. */
  async refresh(): Promise<void> {
    const { key: at, question } = this;
    const held = this.found.now.peek().value;
    if (!at || this.text.peek() === "") return;
    this.grown = true;
    if (!held || this.found.busy) return; // once that is there
    this.grown = false;
    const row = held.row[this.at.peek() - held.offset];
    await this.found.load((s) => search(at, this.query, held.offset, MARKS, s));
    if (question !== this.question) return;
    const now = this.found.now.peek().value;
    const place = row === undefined || !now ? -1 : now.row.indexOf(row);
    if (now && place >= 0) this.at.value = now.offset + place;
    await this.catchUp();
  }

  private async catchUp(): Promise<void> {
    if (this.grown) await this.refresh();
  }

  /** Look for something else; without rules those in use stay, but for the exact name. */
  set(text: string, rules?: string): void {
    adjust({ find: text, rules: rules ?? this.rules.peek().replace("e", "") });
  }

  toggle(rule: string): void {
    const rules = this.rules.peek().replace("e", "");
    adjust({ rules: rules.includes(rule) ? rules.replace(rule, "") : rules + rule });
  }

  /** The next or previous hit: from the one looked at, else from a time on. */
  async step(by: 1 | -1, from: number): Promise<Hit | null> {
    const { question } = this;
    await this.searched; // Enter may follow the last letter at once
    if (question !== this.question) return null;
    const answer = this.found.now.peek().value;
    if (!answer || answer.count === 0) return null;
    const here = this.at.peek();
    let to: number;
    if (here >= 0) {
      to = (here + by + answer.count) % answer.count;
    } else {
      let after = answer.start.findIndex((start) => start >= from);
      if (after < 0) after = answer.row.length;
      to = answer.offset + (by > 0 ? after : after - 1);
      to = (to + answer.count) % answer.count;
    }
    const page = await this.page(to);
    if (!page) return null;
    this.at.value = to;
    const i = to - page.offset;
    return { row: page.row[i], lane: page.lane[i], depth: page.depth[i], start: page.start[i], dur: page.dur[i] };
  }

  /** The page that holds a hit; fetched where it is not the one held. */
  private async page(at: number): Promise<SearchAnswer | null> {
    const held = this.found.now.peek().value;
    const { key: worker, question } = this;
    if (!held || !worker) return null;
    if (at >= held.offset && at < held.offset + held.row.length) return held;
    const size = Math.max(1, held.row.length);
    try {
      const page = await answered(() => search(worker, this.query, Math.floor(at / size) * size, MARKS));
      if (question !== this.question) return null;
      const isOlder = this.found.now.peek().value !== held;
      this.found.now.value = { state: "ready", value: page, detail: "" };
      if (isOlder) void this.refresh(); // it had been searched again
      return at < page.offset + page.row.length ? page : null;
    } catch (error) {
      if (question !== this.question) return null;
      this.found.now.value = { state: "error", value: held, detail: sentence(error) };
      return null;
    }
  }
}
