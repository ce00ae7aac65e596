// One horizontal stacked bar with its legend: exact time and share of every part.

import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { duration, exact, percent } from "../format";
import { textOn } from "../color";
import type { CardData } from "./card";

export interface Part {
  key: string;
  label: string;
  title: string; // the definition
  ns: number;
  ratio: number;
  color: string;
}

/** `perStep` is the number of steps the parts are sums over; 0 where they are no sums over steps. */
export function StackedBar(props: {
  name: string;
  parts: readonly Part[];
  perStep: number;
  testId: string;
}): JSX.Element {
  const { parts, perStep } = props;
  const [lit, setLit] = useState<string | null>(null);
  return (
    <div class="stacked" data-testid={props.testId}>
      <div
        class="stack-bar"
        role="img"
        aria-label={`${props.name}: ${parts.map((p) => `${p.label} ${percent(p.ratio)}`).join(", ")}`}
      >
        {parts.map((part) => (
          <div
            key={part.key}
            class={`stack-part${lit !== null && lit !== part.key ? " dim" : ""}`}
            style={{ flexGrow: part.ratio, background: part.color, color: textOn(part.color) }}
            title={`${part.label}: ${exact(part.ns)}, ${percent(part.ratio)}\n${part.title}`}
            onPointerEnter={() => setLit(part.key)}
            onPointerLeave={() => setLit(null)}
          >
            {part.ratio > 0.09 && <span>{percent(part.ratio)}</span>}
          </div>
        ))}
      </div>
      <table class="legend">
        <thead>
          <tr>
            <th scope="col">{props.name}</th>
            <th scope="col" class="num" title="Sum over the measured steps">
              Total
            </th>
            {perStep > 0 && (
              <th scope="col" class="num" title="Total divided by the number of measured steps">
                Per step
              </th>
            )}
            <th scope="col" class="num" title="Share of the total of all parts">
              Share
            </th>
          </tr>
        </thead>
        <tbody>
          {parts.map((part) => (
            <tr
              key={part.key}
              class={lit !== null && lit !== part.key ? "dim" : ""}
              title={part.title}
              onPointerEnter={() => setLit(part.key)}
              onPointerLeave={() => setLit(null)}
            >
              <th scope="row">
                <span class="swatch" style={{ background: part.color }} />
                {part.label}
              </th>
              <td class="num" title={exact(part.ns)} data-testid={`${props.testId}-${part.key}`} data-ns={part.ns}>
                {duration(part.ns)}
              </td>
              {perStep > 0 && <td class="num">{duration(part.ns / perStep)}</td>}
              <td class="num">{percent(part.ratio)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The numbers of a stacked bar, for its card. */
export function partsData(name: string, parts: readonly Part[], perStep = 0): CardData {
  return {
    columns: [
      { label: name, unit: "text" },
      { label: "Total", unit: "ns" },
      ...(perStep > 0 ? [{ label: "Per step", unit: "ns" as const }] : []),
      { label: "Share", unit: "ratio", title: "Share of the total of all parts" },
    ],
    rows: parts.map((part) => [part.label, part.ns, ...(perStep > 0 ? [part.ns / perStep] : []), part.ratio]),
  };
}
