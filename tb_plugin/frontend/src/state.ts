// Where the user is: one signal that mirrors the hash of the page, and the two ways to change it.

import { computed, effect, signal } from "@preact/signals";
import { ofOtherRun } from "./dashboard/view";
import { decodeState, encodeState, INITIAL, OF_WORKER, type ViewState } from "./hash";
import { onNavigate, readHash, watchTheme, writeHash } from "./host";
import type { Theme } from "./palette";
import { ofOtherWorker } from "./table/view";

export const nav = signal<ViewState>(INITIAL);
export const theme = signal<Theme>("light");

export const tab = computed(() => nav.value.tab);
export const span = computed(() => nav.value.span);
export const slice = computed(() => nav.value.slice);

/** One part of the state as a signal, which changes only when that part does. */
export const part = <K extends keyof ViewState>(name: K) => computed(() => nav.value[name]);

const WRITE_DELAY_MS = 200; // browsers limit how often a page may rewrite its address
let pending: ReturnType<typeof setTimeout> | null = null;

function flush(): void {
  if (pending === null) return;
  clearTimeout(pending);
  pending = null;
  writeHash(encodeState(nav.peek(), readHash()), false);
}

/** Change the state and the address with it; Back does not stop here. */
export function adjust(patch: Partial<ViewState>): void {
  nav.value = { ...nav.peek(), ...patch };
  pending ??= setTimeout(flush, WRITE_DELAY_MS);
}

/** Change the state as a step that Back undoes. */
export function navigate(patch: Partial<ViewState>): void {
  flush(); // the entry we leave must tell where we were
  nav.value = { ...nav.peek(), ...patch };
  writeHash(encodeState(nav.peek(), readHash()), true);
}

/** Go to another run or worker: what belonged to the old one (viewport, selection, folding) is left behind. */
export function openWorker(run: string, worker: string | null): void {
  const { tables, dashboard } = nav.peek();
  navigate({
    ...OF_WORKER,
    run,
    worker,
    whole: false,
    by: null,
    steps: null,
    tables: ofOtherWorker(tables),
    dashboard: ofOtherRun(dashboard),
  });
}

/** Show all workers of the run beside each other. */
export function openAllWorkers(): void {
  navigate({ whole: true });
}

/** Read the address, follow it, and follow the theme of the page around us. */
export function startState(): void {
  nav.value = decodeState(readHash());
  writeHash(readHash(), false); // marks the entry we came in by as one of ours, so that Back can return to it
  onNavigate(
    (hash) => {
      nav.value = decodeState(hash);
    },
    () => writeHash(encodeState(nav.peek(), readHash()), false),
  );
  window.addEventListener("pagehide", flush);
  watchTheme((now) => {
    theme.value = now;
  });
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
  });
}

/** Open or close a finding of the Summary. */
export function toggleFinding(rule: string): void {
  const { findings } = nav.peek().dashboard;
  const rest = findings.filter((open) => open !== rule);
  adjustDashboard({ findings: rest.length < findings.length ? rest : [...findings, rule] });
}

/** Change what the panels and the Step breakdown show. */
export function adjustDashboard(patch: Partial<ViewState["dashboard"]>): void {
  adjust({ dashboard: { ...nav.peek().dashboard, ...patch } });
}

/** The same as a step that Back undoes. */
export function navigateDashboard(patch: Partial<ViewState["dashboard"]>): void {
  navigate({ dashboard: { ...nav.peek().dashboard, ...patch } });
}
