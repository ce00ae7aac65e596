// Findings: what is slow, why that is believed, what to do, what it would gain, and where to look.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Finding, Place, WorkerKey } from "../api";
import { evidenceRow, gainText, placeLabel, SEVERITY_WORDS } from "../findings";
import { plural } from "../format";
import { brief } from "../names";
import { sentence } from "../resource";
import { nav, toggleFinding } from "../state";
import { isolated } from "../timeline/text";
import { Icon, SeverityIcon } from "../ui/icons";
import { openPlace } from "./open-place";

const DEFINITION =
  "What rules found in the numbers of this page, the most important first. Gains are upper bounds, and two findings may want the same time. docs/rules.md tells every rule and its thresholds.";

interface At {
  at: WorkerKey | null; // null: of a run as a whole, which has no timeline
  originNs: string;
}

/** All but those that the verdict above tells in full; nothing where there is no other. */
export function Findings(
  props: { findings: readonly Finding[]; but: readonly string[] /* rules */ } & At,
): JSX.Element | null {
  const { findings, but, at, originNs } = props;
  const others = findings.filter((finding) => !but.includes(finding.rule));
  if (others.length === 0) return null;
  return (
    <section class="card" data-testid="findings">
      <h2 title={DEFINITION}>
        {others.length < findings.length ? "Other findings" : "Findings"} <span class="faint">{others.length}</span>
      </h2>
      <ul class="findings">
        {others.map((finding) => (
          <Row key={finding.rule} finding={finding} at={at} originNs={originNs} />
        ))}
      </ul>
    </section>
  );
}

function Row({ finding, at, originNs }: { finding: Finding } & At): JSX.Element {
  const isOpen = nav.value.dashboard.findings.includes(finding.rule);
  const gain = gainText(finding);
  const id = `finding-${finding.rule}`;
  return (
    <li class={`finding ${finding.severity}`} data-testid={id} data-severity={finding.severity}>
      <button
        type="button"
        class="finding-head"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => toggleFinding(finding.rule)}
      >
        <span class="finding-mark">
          <SeverityIcon severity={finding.severity} />
          {SEVERITY_WORDS[finding.severity]}
        </span>
        <span class="finding-message">{finding.message}</span>
        <span class="finding-gain" title={finding.gain?.formula}>
          {gain ?? <span class="faint">gain not known</span>}
        </span>
        <Icon shape="chevron" />
      </button>
      {isOpen && <FindingBody finding={finding} id={id} at={at} originNs={originNs} />}
    </li>
  );
}

/** What to do and where to look, beside why that is believed. */
export function FindingBody({ finding, id, at, originNs }: { finding: Finding; id: string } & At): JSX.Element {
  return (
    <div class="finding-body" id={id}>
      <div>
        <h3>What to do</h3>
        <ol class="fixes">
          {finding.fix.map((fix) => (
            <li key={fix}>{fix}</li>
          ))}
        </ol>
        {at && finding.places.length > 0 && (
          <p class="places">
            {finding.places.map((place) => (
              <PlaceButton
                key={`${place.what} ${place.name} ${place.start_ns}`}
                place={place}
                at={at}
                originNs={originNs}
              />
            ))}
          </p>
        )}
      </div>
      <div>
        <h3>Why</h3>
        <Evidence finding={finding} ofRun={at === null} />
      </div>
    </div>
  );
}

function Evidence({ finding, ofRun }: { finding: Finding; ofRun: boolean }): JSX.Element {
  const more = finding.more_workers > 0 ? ` and ${plural(finding.more_workers, "more worker")}` : "";
  return (
    <>
      <table class="plain evidence">
        <tbody>
          {Object.entries(finding.evidence).map(([name, value]) => {
            const [label, text] = evidenceRow(name, value);
            return (
              <tr key={name}>
                <th scope="row">{label}</th>
                <td data-value={value ?? undefined} title={brief(text) === text ? undefined : text}>
                  {brief(text)}
                </td>
              </tr>
            );
          })}
          {finding.gain && (
            <tr>
              <th scope="row">Gain at most</th>
              <td>{finding.gain.formula}</td>
            </tr>
          )}
          <tr>
            <th scope="row">Confidence</th>
            <td>
              {finding.confidence}
              {finding.weakened_by.length > 0 &&
                `, weakened by ${finding.weakened_by.length === 1 ? "the note" : "the notes"} ${finding.weakened_by.map((code) => `“${code.replaceAll("_", " ")}”`).join(", ")}`}
            </td>
          </tr>
          {finding.workers.length > (ofRun ? 0 : 1) && (
            <tr>
              <th scope="row">{finding.workers.length > 1 ? "Workers" : "Worker"}</th>
              <td>
                {finding.workers.join(", ")}
                {more}
              </td>
            </tr>
          )}
        </tbody>
      </table>
      {finding.counter_evidence.map((against) => (
        <p key={against} class="faint">
          But: {against}
        </p>
      ))}
    </>
  );
}

/** Opens the timeline at a place; says so where the place is not there. */
export function PlaceButton(props: {
  place: Place;
  at: WorkerKey;
  originNs: string;
  short?: boolean; // without a name, which may be long
}): JSX.Element {
  const { place, at, originNs, short } = props;
  const [problem, setProblem] = useState("");
  const open = async () => {
    try {
      setProblem((await openPlace(at, originNs, place)) ?? "");
    } catch (error) {
      setProblem(sentence(error));
    }
  };
  const label = placeLabel(place);
  return (
    <>
      <button
        type="button"
        class="place"
        title={`${isolated(label)}, in the timeline`}
        data-testid="place"
        onClick={() => void open()}
      >
        {short && place.what !== "step" ? `Show the ${place.what}` : placeLabel({ ...place, name: brief(place.name) })}
      </button>
      {problem && (
        <span class="faint" role="status">
          {problem}
        </span>
      )}
    </>
  );
}
