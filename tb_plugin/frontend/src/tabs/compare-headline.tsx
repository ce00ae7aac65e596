// The headline of a comparison: single numbers of both workers in pairs.

import type { JSX } from "preact";
import { DEFINITIONS, NOT_MEASURED } from "../definitions";
import { DASH, digits } from "../format";
import { Card } from "../ui/card";
import { changeText, exactQuantity, quantityText, type Quantity } from "./compare-requests";

/** Label, definition, and whether more of it is better. */
const KINDS: Record<string, [string, string, boolean]> = {
  step_p50: ["Step time, median", DEFINITIONS.stepDuration, false],
  step_p95: ["Step time, p95", DEFINITIONS.stepDuration, false],
  throughput: ["Throughput", DEFINITIONS.throughput, true],
  gpu_busy: ["GPU busy in the steps", DEFINITIONS.gpuBusy, true],
  input_wait: ["Input wait a step", "Mean over the steps with phases of the wait for the next batch.", false],
  exposed_communication: ["Exposed communication a step", DEFINITIONS.exposed, false],
  memory_peak: [
    "Peak memory of a device",
    "The most that was allocated on a device at once, else what the monitor saw of its memory.",
    false,
  ],
  overhead: ["Profiler's overhead", DEFINITIONS.overhead, false],
};

export function Headline({ pairs }: { pairs: readonly Quantity[] }): JSX.Element {
  return (
    <Card
      title="In short"
      testId="compare-headline"
      data={() => ({
        columns: [
          { label: "What", unit: "text" },
          { label: "Unit", unit: "text" },
          { label: "A", unit: "number" },
          { label: "B", unit: "number" },
          { label: "B - A", unit: "number" },
          { label: "B / A", unit: "number" },
        ],
        rows: pairs.map((pair) => [KINDS[pair.name][0], pair.unit, pair.a, pair.b, pair.difference, pair.ratio]),
      })}
      isTable
    >
      <table class="plain difference">
        <thead>
          <tr>
            <th scope="col">What</th>
            {["A", "B", "B − A", "B / A"].map((label) => (
              <th key={label} scope="col" class="num">
                {label}
              </th>
            ))}
            <th scope="col">Why not</th>
          </tr>
        </thead>
        <tbody>
          {pairs.map((pair) => (
            <Row key={pair.name} pair={pair} />
          ))}
        </tbody>
      </table>
    </Card>
  );
}

/** Of small ratios two digits that count: 0.0073 is no 0.01. */
function times(ratio: number): string {
  if (ratio === 0 || Math.abs(ratio) >= 0.1) return digits(ratio);
  return Math.abs(ratio) < 0.0001 ? "< 0.0001" : ratio.toPrecision(2);
}

function Row({ pair }: { pair: Quantity }): JSX.Element {
  const [label, about, moreIsBetter] = KINDS[pair.name];
  const cell = (which: "a" | "b") => (
    <td
      class={`num${pair[which] === null ? " faint" : ""}`}
      title={pair[which] === null ? (pair.why ?? NOT_MEASURED) : exactQuantity(pair[which], pair.unit)}
      data-testid={`compare-${pair.name}-${which}`}
      data-value={pair[which] ?? undefined}
    >
      {quantityText(pair[which], pair.unit)}
    </td>
  );
  const better = pair.difference ? pair.difference > 0 === moreIsBetter : null;
  return (
    <tr title={about}>
      <th scope="row">{label}</th>
      {cell("a")}
      {cell("b")}
      <td class={`num ${better === null ? "faint" : better ? "less" : "more"}`}>
        {changeText(pair.difference, pair.unit)}
      </td>
      <td class="num">{pair.ratio === null ? DASH : times(pair.ratio)}</td>
      <td class="clip faint">{pair.why}</td>
    </tr>
  );
}
