// A comparison in a sentence, who A and B are, and what makes their numbers hard to compare.

import type { JSX } from "preact";
import { plural } from "../format";
import { ACTIVITY_LABELS, PHASE_LABELS } from "../kinds";
import { brief } from "../names";
import { signed } from "../ui/delta";
import type { Comparison, CompareSide } from "./compare-requests";

export function Verdict(props: { found: Comparison; label: (side: CompareSide) => string }): JSX.Element {
  const { found } = props;
  const { verdict } = found;
  return (
    <section class="card" aria-label="The difference in a sentence">
      <p class="compare-head" data-testid="compare-sentence">
        <b class={verdict === "slower" ? "more" : verdict === "faster" ? "less" : ""}>{found.sentence}</b>
      </p>
      {found.mostly.length > 0 && (
        <p data-testid="compare-mostly">
          Mostly, of a mean step:
          {found.mostly.map((one, i) => (
            <span key={`${one.of}/${one.name}`} title={one.name}>
              {i > 0 && ","} <bdi>{nameOf(one)}</bdi> <b class="num">{signed(one.difference_ns)}</b>
            </span>
          ))}
        </p>
      )}
      <dl class="compare-sides">
        <Side name="A" side={found.a} label={props.label(found.a)} />
        <Side name="B" side={found.b} label={props.label(found.b)} />
      </dl>
      {found.warnings.length > 0 && (
        <ul class="compare-warnings" data-testid="compare-warnings">
          {found.warnings.map((warning) => (
            <li key={warning.detail}>
              {warning.detail}
              {warning.a === null ? (
                "."
              ) : (
                <>
                  : <bdi>{warning.a}</bdi> in A, <bdi>{warning.b}</bdi> in B.
                </>
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function nameOf(one: Comparison["mostly"][number]): string {
  if (one.of === "phase") return PHASE_LABELS[one.name as keyof typeof PHASE_LABELS];
  if (one.of === "activity") return ACTIVITY_LABELS[one.name as keyof typeof ACTIVITY_LABELS];
  return brief(one.name);
}

function Side(props: { name: string; side: CompareSide; label: string }): JSX.Element {
  const { side } = props;
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>
        <bdi>{side.run}</bdi>
        <span class="faint">
          <bdi>{props.label}</bdi>
        </span>
        <span class="faint">
          <bdi>{side.devices.join(", ") || "no accelerator"}</bdi>
        </span>
        <span class="faint">{`${plural(side.steps, "step")}, ${side.deep_steps.toLocaleString("en-US")} in depth`}</span>
      </dd>
    </div>
  );
}
