// The banner on top of the Summary tab: what is slow here, what to do first, and, opened, all that speaks for it.

import type { ComponentChildren, JSX } from "preact";
import type { Finding, Verdict as VerdictData, WorkerKey } from "../api";
import { gainText, SEVERITY_WORDS } from "../findings";
import { nav, toggleFinding } from "../state";
import { Icon, SeverityIcon } from "../ui/icons";
import { FindingBody, PlaceButton } from "./findings";

export function Verdict(props: {
  verdict: VerdictData | null;
  findings: readonly Finding[];
  at: WorkerKey | null;
  originNs: string;
}): JSX.Element | null {
  const { verdict, findings, at, originNs } = props;
  if (!verdict) return null;
  const finding = findings.find((one) => one.rule === verdict.rule) ?? null;
  const bound = verdict.bound && <p class="faint">{verdict.bound.sentence}</p>;
  return (
    <Banner severity={verdict.severity} finding={finding} at={at} originNs={originNs} sentence={verdict.sentence}>
      {finding ? bound : <p class="faint">{quietText(verdict, findings.length)}</p>}
    </Banner>
  );
}

/** `finding`: what the sentence tells in short; its evidence is one click away. */
export function Banner(props: {
  severity: VerdictData["severity"];
  finding: Finding | null;
  at: WorkerKey | null;
  originNs: string;
  sentence: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  const { severity, finding, at, originNs } = props;
  const isOpen = finding !== null && nav.value.dashboard.findings.includes(finding.rule);
  const [place] = finding?.places ?? [];
  return (
    <section class={`verdict ${severity}`} aria-label="Verdict" data-testid="verdict" data-rule={finding?.rule ?? ""}>
      <SeverityIcon severity={severity} />
      <div class="verdict-text">
        <p class="verdict-sentence">
          <b>{SEVERITY_WORDS[severity]}.</b> {props.sentence}
        </p>
        {finding && (
          <p>
            <span class="faint">Do first:</span> {finding.fix[0]}
          </p>
        )}
        {props.children}
      </div>
      {finding && (
        <div class="verdict-side">
          <p title={finding.gain?.formula}>
            <span class="faint">Gain</span> {gainText(finding) ?? "not known"}
          </p>
          <p class="faint">Confidence {finding.confidence}</p>
          <p class="verdict-buttons">
            <button
              type="button"
              class="text-button"
              aria-expanded={isOpen}
              aria-controls="verdict-body"
              data-testid="verdict-more"
              onClick={() => toggleFinding(finding.rule)}
            >
              Evidence
              <Icon shape="chevron" />
            </button>
            {place && at && <PlaceButton place={place} at={at} originNs={originNs} short />}
          </p>
        </div>
      )}
      {finding && isOpen && <FindingBody finding={finding} id="verdict-body" at={at} originNs={originNs} />}
    </section>
  );
}

function quietText(verdict: VerdictData, notes: number): string {
  if (verdict.severity === "unknown") return "Record steps, or a deep window, to get findings.";
  return notes > 0
    ? "No rule found a fault; the notes below tell where time can still be saved."
    : "No rule found a fault.";
}
