// What NVIDIA's names for parts of a GPU are called on AMD's (the tables have theirs from stepscope/tables/kernels.py).

import type { WorkerSummary } from "./api";

const WORDS: readonly [RegExp, string][] = [
  [/\bSM\b/g, "CU"],
  [/Tensor Core/g, "Matrix Core"],
  [/multiprocessor/g, "compute unit"],
];

/** By the models of its devices, as the server tells them. */
const isAmd = (worker: WorkerSummary) =>
  (worker.devices ?? []).some((device) => /\b(AMD|Radeon|Instinct|gfx\d+)/.test(device.name ?? ""));

/** A text about the GPUs of a worker, in the words of their maker. */
export const worded = (text: string, worker: WorkerSummary): string =>
  isAmd(worker) ? WORDS.reduce((said, [from, to]) => said.replace(from, to), text) : text;

/** That the allocator counts the GPUs differently than the device work, as on ROCm; null where both agree. */
export const numberingNote = (worker: WorkerSummary): string | null =>
  worker.quality?.find((note) => note.code === "device_numbering")?.detail ?? null;
