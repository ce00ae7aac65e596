// The routes of the XLA tab (docs/api.md).

import { json, type WorkerKey } from "../api";

export interface ProgramInfo {
  id: string;
  name: string;
  time_ns: number | null; // self time of its operations; null: none was recorded
  bytes: number;
}

export interface ProgramsAnswer {
  programs: ProgramInfo[];
  why_empty: string | null;
  on_device: boolean;
}

export interface ProgramMemory {
  parameter_bytes: number;
  constant_bytes: number;
  output_bytes: number;
  thread_local_bytes: number;
  temporary_bytes: number;
  total_bytes: number;
  aliased_bytes: number;
  temporary_peak_bytes: number;
  peak_bytes: number;
  unused_bytes: number;
  simulated_peak_bytes: number | null;
}

export interface CourseAnswer {
  damaged: boolean; // parts of the program could not be read
  name: string;
  memory: ProgramMemory;
  is_told: boolean;
  steps: number;
  peak: number;
  at: number[];
  level: number[];
  op: (string | null)[];
}

export type MemoryAnswer = CourseAnswer | { damaged: boolean; name: string; memory: null };

export interface BufferRow {
  name: string;
  kind: string;
  opcode: string;
  shape: string;
  op_name: string;
  source: string;
  size_bytes: number;
  padding_bytes: number | null;
  first: number;
  last: number;
  last_op?: string | null; // of a temporary one
}

export interface AliveAnswer {
  at: number;
  op: string | null;
  level: number;
  count: number;
  buffers: BufferRow[];
  rest_bytes: number;
}

export interface ComputationInfo {
  name: string;
  is_entry: boolean;
  instructions: number;
  callers: string[];
}

export interface GraphNode {
  op: string;
  opcode: string;
  category: string;
  shape: string;
  bytes: number;
  op_name: string;
  source: string;
  text: string;
  calls: string[];
  steps: number;
  within: string | null;
  hidden_operands: number;
  hidden_users: number;
  time_ns: number | null;
}

export interface GraphAnswer {
  damaged: boolean;
  op: string;
  middle: GraphNode; // also where its inside is drawn in its place
  computation: ComputationInfo;
  computations: string[];
  program_ns: number;
  nodes: GraphNode[];
  edges: [string, string, number][];
  left_out: number;
}

export interface TextAnswer {
  damaged: boolean;
  computation: ComputationInfo;
  count: number;
  offset: number;
  lines: { op: string; text: string; op_name: string }[];
}

export interface FoundAnswer {
  count: number;
  rows: { op: string; opcode: string; op_name: string; computation: string }[];
}

export const getPrograms = (key: WorkerKey, signal?: AbortSignal) =>
  json<ProgramsAnswer>("xla/programs", { ...key }, signal);

export const getCourse = (key: WorkerKey, program: string, signal?: AbortSignal) =>
  json<MemoryAnswer>("xla/memory", { ...key, program }, signal);

export const getAlive = (key: WorkerKey, program: string, at: number, signal?: AbortSignal) =>
  json<AliveAnswer>("xla/alive", { ...key, program, at }, signal);

export const getGraph = (
  key: WorkerKey,
  program: string,
  of: { op: string | null; depth: number; opened: readonly string[] },
  signal?: AbortSignal,
) =>
  json<GraphAnswer>(
    "xla/graph",
    {
      ...key,
      program,
      depth: of.depth,
      ...(of.op !== null && { op: of.op }),
      ...(of.opened.length > 0 && { opened: of.opened.join(" ") }),
    },
    signal,
  );

export const getText = (key: WorkerKey, program: string, computation: string, offset: number, signal?: AbortSignal) =>
  json<TextAnswer>("xla/text", { ...key, program, computation, offset }, signal);

export const findOps = (key: WorkerKey, program: string, text: string, signal?: AbortSignal) =>
  json<FoundAnswer>("xla/find", { ...key, program, text }, signal);
