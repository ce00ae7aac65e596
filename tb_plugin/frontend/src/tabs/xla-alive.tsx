// What is alive while one instruction of a compiled program runs; the sizes add up to the curve.

import type { JSX } from "preact";
import { DEFINITIONS } from "../definitions";
import { bytes, count, plural } from "../format";
import { Card } from "../ui/card";
import { useFetched } from "../ui/fetched";
import { Meter } from "../ui/meter";
import { Await } from "../ui/states";
import { getAlive, type AliveAnswer, type BufferRow, type ProgramInfo } from "../xla/requests";
import { goXla } from "./xla-tab";

/** Of a name that fills a line as much as a sentence takes, and in a direction of its own. */
function named(op: string | null): string {
  return op === null ? "it" : `\u2068${op.length > 80 ? `${op.slice(0, 79)}…` : op}\u2069`;
}

export function AliveInProgram(props: {
  program: ProgramInfo;
  at: number;
  isPeak: boolean;
  steps: number;
}): JSX.Element {
  const { program, at, isPeak, steps } = props;
  const found = useFetched(`xla alive ${program.id} ${at}`, (key, signal) => getAlive(key, program.id, at, signal));
  const answer = found.value;
  return (
    <Card
      title={`Alive at instruction ${count((answer?.at ?? at) + 1)} of ${count(steps)}${isPeak && (answer?.at ?? at) === at ? ", the peak" : ""}`}
      definition={DEFINITIONS.programAlive}
      basis={answer && `While ${named(answer.op)} runs: ${plural(answer.count, "buffer")}, the largest first.`}
      data={answer ? () => aliveData(answer) : undefined}
      isTable
      testId="xla-alive"
    >
      <Await of={found} what="what is alive">
        {(value) => <Buffers answer={value} />}
      </Await>
    </Card>
  );
}

const livesText = ({ kind, first, last, last_op: op }: BufferRow) =>
  kind === "temporary" ? `${count(first + 1)} – ${count(last + 1)}${op ? ` (${op})` : ""}` : "all the time";

function aliveData(answer: AliveAnswer) {
  return {
    columns: [
      { label: "Buffer", unit: "text" as const },
      { label: "Kind", unit: "text" as const },
      { label: "Operator", unit: "text" as const },
      { label: "Shape", unit: "text" as const },
      { label: "Size", unit: "bytes" as const },
      { label: "Padding", unit: "bytes" as const },
      { label: "Lives", unit: "text" as const },
      { label: "Source", unit: "text" as const },
    ],
    rows: answer.buffers.map((row) => [
      row.name,
      row.kind,
      row.op_name,
      row.shape,
      row.size_bytes,
      row.padding_bytes,
      livesText(row),
      row.source,
    ]),
  };
}

function Buffers({ answer }: { answer: AliveAnswer }): JSX.Element {
  const rest = answer.count - answer.buffers.length;
  return (
    <div class="rank-scroll long xla-buffers" tabIndex={0} role="region" aria-label="Buffers alive">
      <table class="plain spaced">
        <thead>
          <tr>
            <th scope="col">Buffer</th>
            <th scope="col">Kind</th>
            <th scope="col">Operator</th>
            <th scope="col">Shape</th>
            <th scope="col" class="num">
              Size
            </th>
            <th scope="col" class="num" title="The size less the elements times the size of one.">
              Padding
            </th>
            <th scope="col" class="num" title="Divided by the sum in the last line.">
              Share
            </th>
            <th scope="col" title="From the instruction that makes it to the last one that reads it.">
              Lives
            </th>
          </tr>
        </thead>
        <tbody>
          {answer.buffers.map((row, i) => (
            <tr key={i} data-testid="xla-buffer" data-value={row.size_bytes}>
              <th scope="row" class="clip" title={row.name}>
                <button
                  type="button"
                  class="inline-link"
                  onClick={() => goXla({ show: "graph", op: row.name.replace(/\{[\d,]*\}$/, "") })}
                >
                  <bdi>{row.name || "(no name)"}</bdi>
                </button>
              </th>
              <td>{row.kind}</td>
              <td class="clip" title={[row.op_name, row.source].filter(Boolean).join("\n")}>
                <bdi>{row.op_name || "—"}</bdi>
              </td>
              <td class="clip" title={row.shape}>
                <bdi>{row.shape.replace(/\{[^}]*\}/g, "")}</bdi>
              </td>
              <td class="num" title={`${count(row.size_bytes)} bytes`}>
                {bytes(row.size_bytes)}
              </td>
              <td class="num">{row.padding_bytes === null ? "—" : bytes(row.padding_bytes)}</td>
              <td class="num">
                <Meter ratio={answer.level > 0 ? row.size_bytes / answer.level : null} />
              </td>
              <td class="clip" title={livesText(row)}>
                {livesText(row)}
              </td>
            </tr>
          ))}
          {rest > 0 && (
            <tr>
              <th scope="row" class="faint" colSpan={4}>
                {plural(rest, "smaller buffer")}
              </th>
              <td class="num">{bytes(answer.rest_bytes)}</td>
              <td colSpan={3} />
            </tr>
          )}
        </tbody>
        <tfoot>
          <tr data-testid="xla-alive-total" data-value={answer.level}>
            <th scope="row" colSpan={4}>
              Alive in all
            </th>
            <td class="num" title={`${count(answer.level)} bytes`}>
              <b>{bytes(answer.level)}</b>
            </td>
            <td colSpan={3} />
          </tr>
        </tfoot>
      </table>
    </div>
  );
}
