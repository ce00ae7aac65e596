// A mean step of both workers by phase or by class of activity: bars of the two, and what each part adds.

import type { JSX } from "preact";
import { DEFINITIONS } from "../definitions";
import { duration, exact } from "../format";
import { theme } from "../state";
import { Card } from "../ui/card";
import { Delta } from "../ui/delta";
import { Absent } from "../ui/states";
import type { ComparedParts } from "./compare-requests";
import { partsOf, type By } from "./step-parts";

const TITLES = { phase: "A step by phase", activity: "A step by activity" };

export function ComparedPart({ by, found }: { by: By; found: ComparedParts }): JSX.Element {
  const named = new Map(partsOf(by, theme.value).map((part) => [part.key, part]));
  const rows = found.rows.filter((row) => row.a_ns > 0 || row.b_ns > 0);
  const longest = Math.max(...rows.flatMap((row) => [row.a_ns, row.b_ns]), 1);
  const most = Math.max(...rows.map((row) => Math.abs(row.difference_ns)), Math.abs(found.difference_ns ?? 0), 1);
  const label = (name: string) => named.get(name)?.label ?? name;
  return (
    <Card
      title={TITLES[by]}
      definition={by === "phase" ? DEFINITIONS.phases : DEFINITIONS.activity}
      basis={found.why ? undefined : basisOf(by, found.in_other.map(label))}
      testId={`compare-${by}`}
      isTable
      data={
        found.why
          ? undefined
          : () => ({
              columns: [
                { label: by === "phase" ? "Phase" : "Class", unit: "text" },
                { label: "A", unit: "ns" },
                { label: "B", unit: "ns" },
                { label: "B - A", unit: "ns" },
              ],
              rows: found.rows.map((row) => [label(row.name), row.a_ns, row.b_ns, row.difference_ns]),
            })
      }
    >
      {found.why ? (
        <Absent>{found.why}</Absent>
      ) : (
        <table class="plain difference">
          <thead>
            <tr>
              <th scope="col">{by === "phase" ? "Phase" : "Class"}</th>
              <th scope="col" title="Above A, below B.">
                A over B
              </th>
              {["A", "B", "B − A"].map((head) => (
                <th key={head} scope="col" class="num">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.name} title={named.get(row.name)?.title} data-testid={`compare-${by}-${row.name}`}>
                <th scope="row">
                  <span class="swatch" style={{ background: named.get(row.name)?.color }} />
                  {label(row.name)}
                </th>
                <td class="two-bars" aria-hidden="true">
                  {[row.a_ns, row.b_ns].map((ns, i) => (
                    <span
                      key={i}
                      style={{ width: `${(100 * ns) / longest}%`, background: named.get(row.name)?.color }}
                    />
                  ))}
                </td>
                <Time ns={row.a_ns} />
                <Time ns={row.b_ns} />
                <Delta ns={row.difference_ns} most={most} />
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row" colSpan={2}>
                Mean step
              </th>
              <Time ns={found.a_ns} />
              <Time ns={found.b_ns} />
              <Delta ns={found.difference_ns ?? 0} most={most} />
            </tr>
          </tfoot>
        </table>
      )}
    </Card>
  );
}

function basisOf(by: By, inOther: readonly string[]): string {
  const of = by === "phase" ? "Mean of the steps with phases" : "Mean of the steps captured in depth";
  const moved = inOther.length > 0 ? `; in Other, since only one of them measured it: ${inOther.join(", ")}` : "";
  return `${of}; the parts sum to it${moved}`;
}

const Time = ({ ns }: { ns: number | null }) => (
  <td class="num" title={exact(ns)} data-ns={ns ?? undefined}>
    {ns === 0 ? "0" : duration(ns)}
  </td>
);
