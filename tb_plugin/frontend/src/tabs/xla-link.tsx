// From an event of an operation that XLA compiled to its place in the program's graph.

import type { JSX } from "preact";
import { navigate } from "../state";
import { INITIAL_XLA } from "../xla/view";

/** Nothing where the arguments name no operation of XLA. */
export function GraphLink({ args }: { args: Record<string, unknown> | null }): JSX.Element | null {
  const { hlo_op: op, hlo_module: name, program_id: id } = args ?? {};
  if (typeof op !== "string") return null;
  // Larger numbers have lost digits on their way through JSON: there the name must do.
  const program = Number.isSafeInteger(id) ? String(id) : typeof name === "string" ? name : null;
  return (
    <button
      type="button"
      class="text-button"
      data-testid="open-in-graph"
      onClick={() => navigate({ tab: "xla", xla: { ...INITIAL_XLA, program, op, show: "graph" } })}
    >
      Show in the graph of the program
    </button>
  );
}
