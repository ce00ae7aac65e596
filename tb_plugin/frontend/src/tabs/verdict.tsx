// The banner on top of the Summary tab: what is slow here, and what to do first.

import type { JSX } from "preact";
import type { Finding, Verdict as VerdictData, WorkerKey } from "../api";
import { gainText, SEVERITY_WORDS } from "../findings";
import { SeverityIcon } from "../ui/icons";
import { PlaceButton } from "./findings";

export function Verdict(props: {
  verdict: VerdictData | null;
  findings: readonly Finding[];
  at: WorkerKey | null;
  originNs: string;
}): JSX.Element | null {
  const { verdict, findings, at, originNs } = props;
  if (!verdict) return null;
  const finding = findings.find((one) => one.rule === verdict.rule);
  const gain = finding && gainText(finding);
  const [place] = finding?.places ?? [];
  return (
    <section
      class={`verdict ${verdict.severity}`}
      aria-label="Verdict"
      data-testid="verdict"
      data-rule={verdict.rule ?? ""}
    >
      <SeverityIcon severity={verdict.severity} />
      <div class="verdict-text">
        <p class="verdict-sentence">
          <b>{SEVERITY_WORDS[verdict.severity]}.</b> {verdict.sentence}
        </p>
        {finding ? (
          <>
            <p>
              <span class="faint">Do first:</span> {finding.fix[0]}
            </p>
            {verdict.bound && <p class="faint">{verdict.bound.sentence}</p>}
          </>
        ) : (
          <p class="faint">{quietText(verdict, findings.length)}</p>
        )}
      </div>
      {finding && (
        <div class="verdict-side">
          <p title={finding.gain?.formula}>
            <span class="faint">Gain</span> {gain ?? "not known"}
          </p>
          <p class="faint">Confidence {finding.confidence}</p>
          {place && at && <PlaceButton place={place} at={at} originNs={originNs} short />}
        </div>
      )}
    </section>
  );
}

function quietText(verdict: VerdictData, notes: number): string {
  if (verdict.severity === "unknown") return "Record steps, or a deep window, to get findings.";
  return notes > 0
    ? "No rule found a fault; the notes below tell where time can still be saved."
    : "No rule found a fault.";
}
