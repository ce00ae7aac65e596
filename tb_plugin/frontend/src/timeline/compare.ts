// One lane of many workers under each other: which lanes they are, and how their times are moved to line up.

import { computed, signal } from "@preact/signals";
import { getPeer, Importing, type LaneInfo, type PeerAnswer, type TreeAnswer, type WorkerKey } from "../api";
import { key, shown } from "../data";
import { imports, sentence } from "../resource";
import { part } from "../state";
import type { LaneNode, Tree } from "./tree";

/** Rows of ours: below every lane id and every `moreId`. */
const HEADER_ID = -3e9;
const PEER_ID = -4e9;
/** More workers than these are not read by one click. */
export const MOST_PEERS = 64;
const RETRY_MS = 1500;

/** The row of the run's n-th worker. */
export const peerRow = (n: number) => PEER_ID - n;
export const isPeer = (lane: number) => lane <= PEER_ID;
export const isCompareHeader = (lane: number) => lane === HEADER_ID;

export interface Peer {
  id: number; // of its row
  worker: string;
  label: string;
  answer: PeerAnswer | null; // null: not asked for yet
  problem: string;
}

const wish = part("compare");

export class Comparison {
  private readonly answers = signal<ReadonlyMap<string, PeerAnswer | string>>(new Map());
  private asked = new Set<string>();
  private lane: number | null = null;

  readonly peers = computed<Peer[]>(() => {
    if (!wish.value) return [];
    return (shown.value.run?.workers ?? []).slice(0, MOST_PEERS).map((worker, i) => {
      const found = this.answers.value.get(worker.id);
      return {
        id: peerRow(i),
        worker: worker.id,
        label: worker.rank !== null ? `Rank ${worker.rank}` : worker.id,
        answer: typeof found === "object" ? found : null,
        problem: typeof found === "string" ? found : "",
      };
    });
  });

  /** The rows: a heading, then one for each worker. */
  nodes(tree: Tree): LaneNode[] {
    const lane = wish.value && tree.byId.get(wish.value.lane);
    if (!lane) return [];
    const node = (info: LaneInfo, level: number): LaneNode => ({ info, level, parent: null, children: [] });
    const peers = this.peers.value;
    const all = shown.value.run?.workers.length ?? 0;
    const name = `${lane.info.name} of ${all > peers.length ? `the first ${peers.length} of ` : ""}${all} workers`;
    const bare = { parent: null, events: 0, busy_ns: null };
    return [
      node({ ...bare, id: HEADER_ID, type: "group", name, rows: 0 }, 0),
      ...peers.map((peer) => {
        const rows = peer.answer && peer.answer.lane !== null ? peer.answer.rows : 1;
        const { operators } = lane.info;
        return node({ ...bare, id: peer.id, type: "thread", name: this.rowName(peer), rows, operators }, 1);
      }),
    ];
  }

  private rowName(peer: Peer): string {
    const step = wish.value?.step ?? null;
    if (peer.problem) return `${peer.label}: cannot be read`;
    if (peer.answer === null) return peer.label;
    if (peer.answer.lane === null) return `${peer.label}: no such lane`;
    return step !== null && startOf(peer.answer.steps, step) === null ? `${peer.label}: no step ${step}` : peer.label;
  }

  of(lane: number): Peer | null {
    return this.peers.value.find((peer) => peer.id === lane) ?? null;
  }

  ofWorker(worker: string): Peer | null {
    return this.peers.value.find((peer) => peer.worker === worker) ?? null;
  }

  /** What is added to a time of the shown worker to get the peer's; null where they cannot be aligned. */
  shift(peer: Peer, reference: TreeAnswer): number | null {
    if (!peer.answer) return null;
    const step = wish.value?.step ?? null;
    if (step === null) return Number(BigInt(reference.origin_ns) - BigInt(peer.answer.origin_ns));
    const mine = startOf(reference.steps, step);
    const theirs = startOf(peer.answer.steps, step);
    return mine === null || theirs === null ? null : theirs - mine;
  }

  /** Ask for the lanes of the workers whose rows are in view. */
  load(lanes: readonly number[], done: () => void): void {
    const at = key.peek();
    const now = wish.peek();
    if (!at || !now) return;
    if (this.lane !== now.lane) this.reset(now.lane);
    for (const lane of lanes) {
      const peer = this.of(lane);
      if (peer && !this.asked.has(peer.worker)) {
        this.asked.add(peer.worker);
        void this.ask(at, peer.worker, now.lane, done);
      }
    }
  }

  reset(lane: number | null = null): void {
    this.lane = lane;
    this.asked = new Set();
    this.answers.value = new Map();
  }

  private async ask(at: WorkerKey, worker: string, lane: number, done: () => void, again = false): Promise<void> {
    let found: PeerAnswer | string;
    try {
      found = await getPeer(at, worker, lane);
    } catch (error) {
      if (error instanceof Importing) {
        setTimeout(() => {
          if (this.lane === lane && key.peek() === at) void this.ask(at, worker, lane, done, true);
        }, RETRY_MS);
        return;
      }
      found = sentence(error);
    }
    if (this.lane !== lane || key.peek() !== at) return;
    this.answers.value = new Map(this.answers.peek()).set(worker, found);
    if (again) imports.value += 1; // its rank is known now
    done();
  }
}

/** When the step of a number begins. */
export function startOf(steps: TreeAnswer["steps"], number: number): number | null {
  const at = steps.id.indexOf(number);
  return at < 0 ? null : steps.start[at];
}
