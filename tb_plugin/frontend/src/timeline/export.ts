// What is on show for others: a picture, and the way into Perfetto's page.

import { fetchExport, type WorkerKey } from "../api";
import type { Range } from "./viewport";

const PERFETTO = "https://ui.perfetto.dev";
const PING_MS = 100;
const PATIENCE_MS = 20_000;

/** Save a file that is made here, or served by us. */
export function save(address: string, name: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}

/** Save a canvas as PNG. */
export function savePicture(canvas: HTMLCanvasElement, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => {
      if (!blob) {
        reject(new Error("The browser made no picture; the window may be too large."));
        return;
      }
      const address = URL.createObjectURL(blob);
      save(address, name);
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
      resolve();
    }, "image/png");
  });
}

/**
 * Open ui.perfetto.dev and hand it a part of the timeline. The trace goes from this page to that one inside the
 * browser: it is not sent anywhere.
 */
export async function openInPerfetto(
  key: WorkerKey,
  range: Range,
  lanes: readonly number[] | null,
  title: string,
): Promise<void> {
  const page = window.open(PERFETTO); // at once: a browser blocks what does not follow from a click
  if (!page) {
    throw new Error("The browser blocked the new page. Allow pop-ups here, or save the trace and open it in Perfetto.");
  }
  const [buffer] = await Promise.all([fetchExport(key, range, lanes), answered(page)]);
  page.postMessage({ perfetto: { buffer, title, fileName: "timeline.json" } }, PERFETTO);
}

/** Perfetto answers PING with PONG once it has started. */
function answered(page: Window): Promise<void> {
  return new Promise((resolve, reject) => {
    const began = Date.now();
    const end = () => {
      clearInterval(timer);
      window.removeEventListener("message", listen);
    };
    const listen = (event: MessageEvent) => {
      if (event.source !== page || event.data !== "PONG") return;
      end();
      resolve();
    };
    window.addEventListener("message", listen);
    const timer = setInterval(() => {
      if (page.closed || Date.now() - began > PATIENCE_MS) {
        end();
        reject(
          new Error(
            "ui.perfetto.dev did not answer: this browser may have no way to the internet. " +
              "Save the trace here and open it with Perfetto elsewhere.",
          ),
        );
        return;
      }
      try {
        page.postMessage("PING", PERFETTO);
      } catch {
        // The page is not there yet.
      }
    }, PING_MS);
  });
}
