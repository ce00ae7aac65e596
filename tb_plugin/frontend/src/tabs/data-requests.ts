// The routes of the Data tab (docs/api.md).

import { json, type WorkerKey } from "../api";

export interface Stretch {
  start: number;
  end: number;
  events: number;
  steps: number;
  first_step: number | null;
  last_step: number | null;
}

export interface DataAnswer {
  origin_ns: string;
  source: "recording" | "import" | "file";
  format: number | null;
  started_ns: string | null;
  ended_ns: string | null;
  windows: Stretch[];
  window_count: number;
  always_on: Stretch | null;
  monitor: { start: number; end: number; interval_ns: number | null; series: number } | null;
  files: { name: string; bytes: number; modified_ns: string }[];
  file_count: number;
  file_bytes: number;
  clock: { anchors: number; first_ns: string; error_ns: number; jumps_ns: number[] } | null;
  viewer: Record<string, string>;
}

export interface DefinitionSection {
  title: string;
  place: string;
  text: string;
  metrics: { name: string; unit: string; meaning: string }[];
}

export interface DefinitionsAnswer {
  sections: DefinitionSection[];
  codes: Record<string, string>;
}

export const getData = (key: WorkerKey, signal?: AbortSignal) => json<DataAnswer>("data", { ...key }, signal);

export const getDefinitions = (signal?: AbortSignal) => json<DefinitionsAnswer>("definitions", {}, signal);
