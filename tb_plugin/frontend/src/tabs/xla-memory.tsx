// The memory that a compiled program needs, by kind and over its instructions, as the compiler planned it.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Chart } from "../charts/echarts";
import { programMemoryOption } from "../charts/program-memory";
import { DEFINITIONS } from "../definitions";
import { bytes, count, plural } from "../format";
import { adjust, nav, theme } from "../state";
import { Card } from "../ui/card";
import { useFetched } from "../ui/fetched";
import { Absent, Await } from "../ui/states";
import { getCourse, type CourseAnswer, type ProgramInfo, type ProgramMemory } from "../xla/requests";
import type { XlaView } from "../xla/view";
import { AliveInProgram } from "./xla-alive";
import { Damaged } from "./xla-damaged";

const patch = (at: number | null) => adjust({ xla: { ...nav.peek().xla, at } });

export function XlaMemory({ program, view }: { program: ProgramInfo; view: XlaView }): JSX.Element {
  const found = useFetched(`xla course ${program.id}`, (key, signal) => getCourse(key, program.id, signal));
  return (
    <Await of={found} what="the memory of the program">
      {(answer) => (
        <>
          <Damaged is={answer.damaged} />
          {answer.memory === null ? (
            <section class="card" data-testid="no-assignment" aria-label="No memory">
              <h3>The memory of {answer.name} is not recorded</h3>
              <Absent>
                The profile holds the program without its buffer assignment, which is what tells where its values lie.
              </Absent>
            </section>
          ) : (
            <Course program={program} view={view} answer={answer} />
          )}
        </>
      )}
    </Await>
  );
}

function Course({ program, view, answer }: { program: ProgramInfo; view: XlaView; answer: CourseAnswer }): JSX.Element {
  const now = theme.value;
  const at = Math.min(view.at ?? answer.peak, Math.max(answer.steps - 1, 0));
  const option = useMemo(() => programMemoryOption(answer, at, now), [answer, at, now]);
  const drawn = answer.at.length < answer.steps;
  return (
    <div class="time-cards">
      <Card
        title={`Memory of ${answer.name}`}
        definition={DEFINITIONS.programMemory}
        basis={`As the compiler planned it before the program ran: nothing here is measured.${
          answer.is_told ? "" : " The profile does not tell in which order it runs: that of the file stands in."
        }`}
        data={() => ({
          columns: [
            { label: "Position", unit: "count" },
            { label: "Instruction", unit: "text" },
            { label: "Alive", unit: "bytes", title: DEFINITIONS.programAlive },
          ],
          rows: answer.at.map((position, i) => [position + 1, answer.op[i], answer.level[i]]),
        })}
        testId="xla-memory"
      >
        <Figures memory={answer.memory} onPeak={() => patch(null)} />
        <Chart
          option={option}
          label={`Memory of ${answer.name} over its ${plural(answer.steps, "instruction")}`}
          height={220}
          testId="xla-memory-chart"
          onClick={(x) => patch(Math.min(Math.max(Math.floor(x), 1), answer.steps) - 1)}
        />
        <p class="chart-note">
          Instructions in the order in which the program runs them, not time. Click one to see what is alive while it
          runs.
          {drawn && ` Drawn: the highest of each stretch, ${count(answer.at.length)} of ${count(answer.steps)}.`}
        </p>
      </Card>
      <AliveInProgram program={program} at={at} isPeak={view.at === null || at === answer.peak} steps={answer.steps} />
    </div>
  );
}

const PARTS: [keyof ProgramMemory, string, string][] = [
  ["parameter_bytes", "Parameters", "What the program is given, such as weights and the batch."],
  ["constant_bytes", "Constants", "Values that are part of the program."],
  ["output_bytes", "Outputs", "What it returns, but for what it writes over parameters."],
  ["thread_local_bytes", "Thread-local", "What each thread has for itself."],
  ["temporary_bytes", "Temporary", "Allocations that values in between share, one after the other."],
];

function Figures({ memory, onPeak }: { memory: ProgramMemory; onPeak: () => void }): JSX.Element {
  const figure = (key: keyof ProgramMemory, label: string, title: string, more?: JSX.Element | string) => (
    <div key={key} title={title}>
      <dt>{label}</dt>
      <dd data-testid={`xla-${key}`} data-value={memory[key]}>
        {bytes(memory[key])} {more}
      </dd>
    </div>
  );
  return (
    <dl class="figures">
      {figure("total_bytes", "Allocated in all", "Sum of parameters, constants, outputs, thread-local and temporary.")}
      {figure(
        "peak_bytes",
        "Alive at the peak",
        DEFINITIONS.programAlive,
        <button type="button" class="inline-link" data-testid="xla-to-peak" onClick={onPeak}>
          show
        </button>,
      )}
      {PARTS.filter(([key]) => key !== "thread_local_bytes" || memory[key]).map(([key, label, title]) =>
        figure(
          key,
          label,
          title,
          key === "parameter_bytes" && memory.aliased_bytes > 0 ? (
            <span class="xla-also faint">{bytes(memory.aliased_bytes)} also outputs</span>
          ) : (
            ""
          ),
        ),
      )}
      {figure("unused_bytes", "Unused at the peak", "Allocated in all, less what is alive: alignment and gaps.")}
      {memory.simulated_peak_bytes !== null &&
        figure(
          "simulated_peak_bytes",
          "Temporary, by XLA",
          `The peak of the temporary buffers in the compiler's own simulation; computed here: ${bytes(memory.temporary_peak_bytes)}.`,
        )}
    </dl>
  );
}
