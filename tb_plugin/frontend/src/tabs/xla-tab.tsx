// The XLA tab: a program that XLA compiled, as its memory, as a graph around one instruction, or as text.

import type { JSX } from "preact";
import { DASH, duration } from "../format";
import { navigate, nav } from "../state";
import { useFetched } from "../ui/fetched";
import { Await } from "../ui/states";
import { Toggle } from "../ui/toggle";
import { getPrograms, type ProgramInfo, type ProgramsAnswer } from "../xla/requests";
import { INITIAL_XLA, type XlaView } from "../xla/view";
import { XlaGraph } from "./xla-graph";
import { XlaMemory } from "./xla-memory";
import { XlaText } from "./xla-text";

/** A step that Back undoes. */
export const goXla = (patch: Partial<XlaView>) => navigate({ xla: { ...nav.peek().xla, ...patch } });

export function XlaTab(): JSX.Element {
  const found = useFetched("xla programs", getPrograms);
  return (
    <div class="page">
      <Await of={found} what="the programs">
        {(answer) => (answer.programs.length > 0 ? <Program answer={answer} /> : <NoPrograms why={answer.why_empty} />)}
      </Await>
    </div>
  );
}

function Program({ answer: { programs } }: { answer: ProgramsAnswer }): JSX.Element {
  const view = nav.value.xla;
  const program =
    programs.find(({ id }) => id === view.program) ?? programs.find(({ name }) => name === view.program) ?? programs[0];
  const Shown = { memory: XlaMemory, graph: XlaGraph, text: XlaText }[view.show];
  return (
    <>
      <div class="toolbar wrap xla-toolbar">
        <label class="field xla-choice">
          <span class="faint">Program</span>
          <select
            value={program.id}
            data-testid="xla-program"
            onChange={(event) => goXla({ ...INITIAL_XLA, show: view.show, program: event.currentTarget.value })}
          >
            {programs.map((one) => (
              <option key={one.id} value={one.id}>
                {optionText(one)}
              </option>
            ))}
          </select>
        </label>
        <Toggle
          label="Show"
          value={view.show}
          choices={[
            { value: "memory", label: "Memory", title: "What it allocates, and what is alive at each instruction" },
            { value: "graph", label: "Graph", title: "What an instruction reads and what reads it" },
            { value: "text", label: "Text", title: "The instructions of a computation as HLO text" },
          ]}
          onChoose={(show) => goXla({ show: show as XlaView["show"] })}
        />
      </div>
      <Shown key={program.id} program={program} view={view} />
    </>
  );
}

function optionText({ name, id, time_ns: ns }: ProgramInfo): string {
  return `${name} (${id}), ${ns === null ? "no time recorded" : duration(ns) || DASH}`;
}

function NoPrograms({ why }: { why: string | null }): JSX.Element {
  return (
    <section class="card" data-testid="no-programs" aria-label="No programs">
      <h3>{why === "no_window" ? "No step was captured in depth" : "Nothing that XLA compiled was recorded"}</h3>
      <p class="basis">
        {why === "no_window"
          ? "Programs are recorded in deep windows, and this worker has none yet."
          : "The deep windows hold no program of XLA. Those of JAX always do; TensorFlow compiles what is asked for:"}
      </p>
      {why !== "no_window" && (
        <pre class="code">
          <code>{'model.compile(optimizer="adam", loss="mse", jit_compile=True)\n@tf.function(jit_compile=True)'}</code>
        </pre>
      )}
    </section>
  );
}
