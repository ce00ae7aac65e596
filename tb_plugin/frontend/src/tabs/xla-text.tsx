// A computation as HLO text: every name in it leads to its instruction.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { count, plural } from "../format";
import { saveText } from "../ui/card";
import { Card } from "../ui/card";
import { useFetched } from "../ui/fetched";
import { Await } from "../ui/states";
import { getGraph, getText, type ProgramInfo, type TextAnswer } from "../xla/requests";
import type { XlaView } from "../xla/view";
import { Damaged } from "./xla-damaged";
import { FindOp } from "./xla-find";
import { goXla } from "./xla-tab";

const PAGE = 1000; // lines that one answer holds

export function XlaText({ program, view }: { program: ProgramInfo; view: XlaView }): JSX.Element {
  // Which computation an instruction lies in, and which there are: the graph's answer tells both.
  const around = useFetched(`xla in ${program.id} ${view.op ?? ""}`, (key, signal) =>
    getGraph(key, program.id, { op: view.op, depth: 1, opened: [] }, signal),
  );
  return (
    <Await of={around} what="the program">
      {(answer) => {
        const name = view.computation ?? answer.computation.name;
        const names = answer.computations.includes(name) ? answer.computations : [name, ...answer.computations];
        return <Computation key={name} program={program} name={name} names={names} op={view.op ?? answer.op} />;
      }}
    </Await>
  );
}

function Computation(props: { program: ProgramInfo; name: string; names: string[]; op: string }): JSX.Element {
  const { program, name, names, op } = props;
  const [offset, setOffset] = useState(0);
  const found = useFetched(`xla text ${program.id} ${name} ${offset}`, (key, signal) =>
    getText(key, program.id, name, offset, signal),
  );
  const answer = found.value;
  return (
    <Card
      title={name}
      basis={answer && about(answer)}
      data={answer ? () => ({ columns: TEXT, rows: answer.lines.map((line) => [line.op, line.text]) }) : undefined}
      isTable
      testId="xla-text"
      actions={
        <>
          <label class="field xla-choice no-picture">
            <span class="faint">Computation</span>
            <select
              value={name}
              data-testid="xla-computation"
              onChange={(event) => goXla({ computation: event.currentTarget.value, op: null })}
            >
              {names.map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </select>
          </label>
          <FindOp program={program} onChoose={(row) => goXla({ op: row.op, computation: row.computation })} />
          {answer && (
            <button
              type="button"
              class="text-button no-picture"
              onClick={() => saveText(answer.lines.map((line) => line.text).join("\n"), name, "txt")}
            >
              Save text
            </button>
          )}
        </>
      }
    >
      <Await of={found} what="the text">
        {(value) => (
          <>
            <Damaged is={value.damaged} />
            <Callers answer={value} />
            <Lines answer={value} op={op} />
            {value.count > PAGE && (
              <p class="chart-note">
                {`Instructions ${count(value.offset + 1)} to ${count(value.offset + value.lines.length)} of ${count(value.count)}. `}
                <button
                  type="button"
                  class="text-button"
                  disabled={offset === 0}
                  onClick={() => setOffset(offset - PAGE)}
                >
                  Before
                </button>{" "}
                <button
                  type="button"
                  class="text-button"
                  disabled={offset + PAGE >= value.count}
                  onClick={() => setOffset(offset + PAGE)}
                >
                  After
                </button>
              </p>
            )}
          </>
        )}
      </Await>
    </Card>
  );
}

const TEXT = [
  { label: "Instruction", unit: "text" as const },
  { label: "Text", unit: "text" as const },
];

const about = ({ count: n, computation: { is_entry: entry } }: TextAnswer) =>
  `${plural(n, "instruction")}${entry ? "; the program begins here" : ""}. Values of constants and layouts of operands are left out.`;

function Callers({ answer: { computation } }: { answer: TextAnswer }): JSX.Element | null {
  if (computation.callers.length === 0) return null;
  return (
    <p class="basis">
      Called by{" "}
      {computation.callers.map((caller, i) => (
        <span key={caller}>
          {i > 0 && ", "}
          <OpLink op={caller} />
        </span>
      ))}
    </p>
  );
}

function OpLink({ op, children }: { op: string; children?: ComponentChildren }): JSX.Element {
  return (
    <button type="button" class="inline-link" onClick={() => goXla({ op, computation: null })}>
      {children ?? op}
    </button>
  );
}

function Lines({ answer, op }: { answer: TextAnswer; op: string }): JSX.Element {
  const chosen = useRef<HTMLLIElement>(null);
  useEffect(() => chosen.current?.scrollIntoView({ block: "nearest" }), [op, answer]);
  return (
    <ol class="xla-lines" start={answer.offset + 1} tabIndex={0} aria-label="Instructions">
      {answer.lines.map((line) => (
        <li
          key={line.op}
          ref={line.op === op ? chosen : undefined}
          class={line.op === op ? "chosen" : ""}
          aria-current={line.op === op ? "true" : undefined}
          data-testid="xla-line"
          title={line.op_name}
        >
          <code>{linked(line.text)}</code>
          <button
            type="button"
            class="inline-link"
            aria-label={`Graph around ${line.op}`}
            onClick={() => goXla({ show: "graph", op: line.op })}
          >
            graph
          </button>
        </li>
      ))}
    </ol>
  );
}

/** Names of instructions as links; computations that are called as links to their text. */
function linked(text: string): ComponentChildren[] {
  return text.split(/((?:calls=)?%[\w.-]+)/).map((part, i) => {
    if (i % 2 === 0) return part;
    if (!part.startsWith("calls=")) return <OpLink op={part.slice(1)}>{part}</OpLink>;
    const name = part.slice("calls=%".length);
    return (
      <>
        calls=
        <button type="button" class="inline-link" onClick={() => goXla({ computation: name, op: null })}>
          %{name}
        </button>
      </>
    );
  });
}
