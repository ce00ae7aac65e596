// The closed lists of the data model: kinds of events, classes of activity, phases. Numbers are those of stepscope/schema.py.

export const KIND_NAMES = [
  "other",
  "step",
  "phase",
  "annotation",
  "operator",
  "python",
  "runtime call",
  "launch",
  "kernel",
  "collective",
  "memcpy",
  "memset",
  "sync",
  "memory",
  "data loader",
  "module",
  "overhead",
  "counter",
  "device annotation",
] as const;

export const Kind = {
  OTHER: 0,
  STEP: 1,
  PHASE: 2,
  ANNOTATION: 3,
  OP: 4,
  PYTHON: 5,
  RUNTIME: 6,
  LAUNCH: 7,
  KERNEL: 8,
  COLLECTIVE: 9,
  MEMCPY: 10,
  MEMSET: 11,
  SYNC: 12,
  MEMORY: 13,
  DATALOADER: 14,
  MODULE: 15,
  OVERHEAD: 16,
  COUNTER: 17,
  DEVICE_ANNOTATION: 18,
} as const;

/** Classes of the exclusive partition of a step, in order of priority. */
export const ACTIVITIES = [
  "kernel",
  "communication",
  "memcpy",
  "memset",
  "runtime",
  "dataloader",
  "cpu",
  "other",
] as const;
export type Activity = (typeof ACTIVITIES)[number];

/** Phases of a training loop, in the order in which they are drawn. */
export const PHASES = [
  "input_wait",
  "h2d",
  "forward",
  "backward",
  "optimizer",
  "compute",
  "validation",
  "other",
] as const;
export type Phase = (typeof PHASES)[number];

export const ACTIVITY_LABELS: Record<Activity, string> = {
  kernel: "Kernel",
  communication: "Communication",
  memcpy: "Memory copy",
  memset: "Memory set",
  runtime: "Runtime",
  dataloader: "Data loader",
  cpu: "CPU",
  other: "Other",
};

export const PHASE_LABELS: Record<Phase, string> = {
  input_wait: "Input wait",
  h2d: "Host to device",
  forward: "Forward",
  backward: "Backward",
  optimizer: "Optimizer",
  compute: "Compute",
  validation: "Validation",
  other: "Other",
};
