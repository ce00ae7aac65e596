// The graph of a program around one instruction: a click walks to another one.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { DEFINITIONS } from "../definitions";
import { bytes, count, duration, exact, percent, plural } from "../format";
import { CANVAS } from "../palette";
import { theme } from "../state";
import { Card, saveText } from "../ui/card";
import { useFetched } from "../ui/fetched";
import { Menu } from "../ui/menu";
import { Await } from "../ui/states";
import { dotOf, svgOf } from "../xla/export";
import { getGraph, type GraphAnswer, type GraphNode, type ProgramInfo } from "../xla/requests";
import { MOST_DEPTH, type XlaView } from "../xla/view";
import { GraphDrawing } from "./xla-drawing";
import { Damaged } from "./xla-damaged";
import { FindOp } from "./xla-find";
import { goXla } from "./xla-tab";

export function XlaGraph({ program, view }: { program: ProgramInfo; view: XlaView }): JSX.Element {
  const { op, depth, opened } = view;
  const found = useFetched(`xla graph ${program.id} ${op ?? ""} ${depth} ${opened.join(" ")}`, (key, signal) =>
    getGraph(key, program.id, { op, depth, opened }, signal),
  );
  const svg = useRef<SVGSVGElement>(null);
  const answer = found.value;
  const name = `${program.name}-${answer?.op ?? ""}`;
  const items = () => [
    { label: "Graphviz", hint: "DOT", testId: "xla-dot", act: () => answer && saveText(dotOf(answer), name, "dot") },
    {
      label: "Drawing",
      hint: "SVG",
      testId: "xla-svg",
      act: () => svg.current && saveText(svgOf(svg.current, CANVAS[theme.peek()]), name, "svg"),
    },
    {
      label: "Instructions",
      hint: "text",
      testId: "xla-save-text",
      act: () => answer && saveText(answer.nodes.map((node) => node.text).join("\n"), name, "txt"),
    },
  ];
  return (
    <>
      <Damaged is={answer?.damaged ?? false} />
      <Card
        title={answer ? `Around ${answer.op}` : "Graph"}
        definition={DEFINITIONS.hloGraph}
        basis={answer && <Basis answer={answer} depth={depth} />}
        data={answer ? () => graphData(answer) : undefined}
        testId="xla-graph"
        actions={
          <>
            <FindOp program={program} onChoose={(row) => goXla({ op: row.op })} />
            <label class="field xla-choice no-picture" title="How many instructions far">
              <span class="faint">Distance</span>
              <select
                value={String(depth)}
                data-testid="xla-depth"
                onChange={(event) => goXla({ depth: Number(event.currentTarget.value) })}
              >
                {Array.from({ length: MOST_DEPTH }, (_, i) => (
                  <option key={i} value={String(i + 1)}>
                    {i + 1}
                  </option>
                ))}
              </select>
            </label>
            <span class="no-picture">
              <Menu label="Save the graph" items={items} testId="xla-export" kind="text-button">
                Save
              </Menu>
            </span>
          </>
        }
      >
        <Await of={found} what="the graph">
          {(value) => (
            <>
              <GraphDrawing answer={value} svg={svg} onChoose={(to) => goXla({ op: to })} />
              <Middle answer={value} opened={opened} />
            </>
          )}
        </Await>
      </Card>
    </>
  );
}

function Basis({ answer, depth }: { answer: GraphAnswer; depth: number }): JSX.Element {
  const { computation, left_out: out } = answer;
  return (
    <>
      {`${plural(answer.nodes.length, "instruction")} at most ${plural(depth, "arrow")} from it, in `}
      <button
        type="button"
        class="inline-link"
        onClick={() => goXla({ show: "text", op: answer.op, computation: computation.name })}
      >
        {computation.name}
      </button>
      {computation.is_entry ? ", where the program begins." : "."}
      {out > 0 && ` ${plural(out, "more")} as near would be too many to draw.`}
    </>
  );
}

const graphData = (answer: GraphAnswer) => ({
  columns: [
    { label: "Instruction", unit: "text" as const },
    { label: "Category", unit: "text" as const },
    { label: "Time", unit: "ns" as const, title: "Self time of all its runs" },
    { label: "Result", unit: "bytes" as const },
    { label: "Operator", unit: "text" as const },
    { label: "Text", unit: "text" as const },
  ],
  rows: answer.nodes.map((node) => [node.op, node.category, node.time_ns, node.bytes, node.op_name, node.text]),
});

/** Everything about the instruction in the middle, and the ways on. */
function Middle({ answer, opened }: { answer: GraphAnswer; opened: readonly string[] }): JSX.Element {
  const node = answer.middle;
  const panel = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (panel.current) panel.current.scrollTop = 0;
  }, [answer.op]);
  const others = opened.filter((name) => name !== node.op && answer.nodes.some((one) => one.within === name));
  return (
    <div class="xla-middle" ref={panel} data-testid="xla-middle">
      <code class="xla-code">{node.text}</code>
      <dl class="pairs">
        <Fact label="Time" value={timeText(node, answer.program_ns)} title={exact(node.time_ns)} />
        <Fact label="Category" value={node.category} />
        <Fact label="Result" value={`${node.shape}, ${bytes(node.bytes)}`} />
        {node.op_name && <Fact label="Operator" value={node.op_name} />}
        {node.source && <Fact label="Source" value={node.source} />}
      </dl>
      <p class="xla-ways no-picture">
        {node.opcode === "fusion" && <Opener name={node.op} isOpen={opened.includes(node.op)} opened={opened} />}
        {others.map((name) => (
          <Opener key={name} name={name} isOpen opened={opened} />
        ))}
        {node.calls.map((name) => (
          <button
            key={name}
            type="button"
            class="text-button"
            onClick={() => goXla({ show: "text", op: null, computation: name })}
          >
            Text of {name}
          </button>
        ))}
        {answer.computation.callers.map((name) => (
          <button key={name} type="button" class="text-button" onClick={() => goXla({ op: name })}>
            Out to {name}
          </button>
        ))}
      </p>
    </div>
  );
}

function Opener(props: { name: string; isOpen: boolean; opened: readonly string[] }): JSX.Element {
  const { name, isOpen, opened } = props;
  const rest = opened.filter((other) => other !== name);
  return (
    <button
      type="button"
      class="text-button"
      data-testid="xla-open"
      onClick={() => goXla({ opened: isOpen ? rest : [...rest, name] })}
    >
      {isOpen ? `Close ${name}` : "Open the fusion"}
    </button>
  );
}

function Fact({ label, value, title }: { label: string; value: string; title?: string }): JSX.Element {
  return (
    <div title={title}>
      <dt>{label}</dt>
      <dd>
        <bdi>{value}</bdi>
      </dd>
    </div>
  );
}

export function timeText({ time_ns: ns }: GraphNode, programNs: number): string {
  if (ns === null) return "none recorded";
  return `${duration(ns)}${programNs > 0 ? `, ${percent(ns / programNs)} of the program` : ""}`;
}

export const hiddenText = ({ hidden_operands: operands, hidden_users: users }: GraphNode) =>
  [
    operands > 0 && `${plural(operands, "operand")} not drawn`,
    users > 0 && `${count(users)} more ${users === 1 ? "reads" : "read"} it`,
  ]
    .filter(Boolean)
    .join("\n");
