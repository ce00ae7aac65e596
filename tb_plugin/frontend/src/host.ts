// The page around us. TensorBoard shows the plugin in an iframe of its own origin; the address and the dark mode are
// those of the outer page. Standing alone (stepscope serve) the outer page is our own window.

import { parseHash } from "./hash";
import type { Theme } from "./palette";

/** The window whose address the user sees; our own where the outer one is out of reach. */
function outerWindow(): Window {
  try {
    void window.parent.location.hash; // throws for another origin
    return window.parent;
  } catch {
    return window;
  }
}

const outer = outerWindow();

export function readHash(): string {
  return outer.location.hash;
}

/** The address that the user sees. */
export function outerAddress(): string {
  return outer.location.href;
}

/** Marks history entries of ours, to tell them from TensorBoard's own writes of the hash. */
const MARK = "stepscope";
const written = new Set<string>();

/** Whether the address is ours to read and write: our iframe lives on, hidden, while another plugin's tab is open. */
function isOurs(hash: string): boolean {
  const { plugin } = parseHash(hash);
  return plugin === "" || plugin === "stepscope";
}

/** Write the hash: as a new entry for Back, or in place of the present one. TensorBoard is not notified by either. */
export function writeHash(hash: string, push: boolean): void {
  if (!isOurs(outer.location.hash) || (push && hash === outer.location.hash)) return;
  written.add(hash);
  const url = new URL(outer.location.href);
  url.hash = hash;
  try {
    if (push) outer.history.pushState({ ...outer.history.state, [MARK]: true }, "", url);
    else outer.history.replaceState({ ...outer.history.state, [MARK]: true }, "", url);
  } catch {
    // Browsers limit how often a page may write its history; the next change catches up.
  }
}

/**
 * Call back when the user goes back, forward or edits the address. TensorBoard itself rewrites the hash from a copy
 * it keeps when its tabs are switched: such an echo of an older hash of ours is no navigation.
 */
export function onNavigate(callback: (hash: string) => void, rewrite: () => void): () => void {
  const listener = (event: PopStateEvent) => {
    const hash = outer.location.hash;
    if (!isOurs(hash)) return;
    const ours = Boolean((event.state as Record<string, unknown> | null)?.[MARK]);
    if (!ours && (written.has(hash) || !hash.includes("p.stepscope."))) rewrite();
    else callback(hash);
  };
  outer.addEventListener("popstate", listener);
  const stop = () => outer.removeEventListener("popstate", listener);
  window.addEventListener("pagehide", stop, { once: true });
  return stop;
}

/** The theme now, and on every change of TensorBoard's switch or, without it, of the system's setting. */
export function watchTheme(callback: (theme: Theme) => void): void {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const host = outer === window ? null : outer.document.body;
  const tell = () => callback((host ? host.classList.contains("dark-mode") : system.matches) ? "dark" : "light");
  tell();
  system.addEventListener("change", tell);
  if (host) {
    const observer = new MutationObserver(tell);
    observer.observe(host, { attributes: true, attributeFilter: ["class"] });
    window.addEventListener("pagehide", () => observer.disconnect(), { once: true });
  }
}

/** Whether anybody can see us: TensorBoard keeps the iframes of hidden tabs alive. */
export function isVisible(): boolean {
  return !document.hidden && window.innerWidth > 0;
}
