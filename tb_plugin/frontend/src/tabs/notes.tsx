// What a reader must know before trusting the numbers: data quality notes, options that were refused.

import type { JSX } from "preact";
import type { WorkerSummary } from "../api";
import { DEFINITIONS } from "../definitions";
import { count } from "../format";

const MOST_NAMED = 5; // fields that a note weakens
const NEARLY_ALL = 20; // of about 30

export function Notes(props: { worker: WorkerSummary; refused: unknown }): JSX.Element {
  const quality = props.worker.quality ?? [];
  const refused = refusals(props.refused);
  const { trust } = props.worker;
  const weakens = new Map(
    (trust?.weakens ?? [])
      .filter(({ fields }) => fields.length > 0)
      .map(({ code, fields }) => [code, fields.map(fieldName)]),
  );
  return (
    <section class="card">
      <h2 title="What was dropped, repaired, guessed or missing while the data was read. Nothing is left out without a note.">
        Data quality
      </h2>
      {trust && (
        <p class="trust" title={DEFINITIONS.trust} data-testid="trust">
          {trust.sentence}
        </p>
      )}
      {quality.length === 0 && refused.length === 0 ? (
        !trust && (
          <p class="all-good" data-testid="quality-none">
            Nothing was dropped, repaired or guessed.
          </p>
        )
      ) : (
        <ul class="notes" data-testid="quality">
          {quality.map((note) => (
            <li key={note.code} data-testid={`quality-${note.code}`}>
              <b title={note.code}>{note.code.replaceAll("_", " ")}</b>
              <span class="note-count">× {count(note.count)}</span>
              <span>
                <bdi>{note.detail}</bdi>
                <Weakens fields={weakens.get(note.code) ?? []} />
              </span>
            </li>
          ))}
          {refused.map((text) => (
            <li key={text}>
              <b>option not met</b>
              <span>{text}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Weakens({ fields }: { fields: readonly string[] }): JSX.Element | null {
  if (fields.length === 0) return null;
  const more = fields.length - MOST_NAMED;
  if (fields.length >= NEARLY_ALL)
    return (
      <span class="faint" title={fields.join(", ")}>
        {" Weakens nearly all numbers."}
      </span>
    );
  return (
    <span class="faint" title={fields.join(", ")}>
      {` Weakens: ${fields.slice(0, MOST_NAMED).join(", ")}${more > 0 ? ` and ${count(more)} more` : ""}.`}
    </span>
  );
}

/** "steps[].phase_ns" as "phase of steps". */
function fieldName(field: string): string {
  const [list, one] = field.split("[].");
  const words = (name: string) => name.replace(/_ns$/, "").replaceAll("_", " ");
  return one === undefined ? words(list) : `${words(one)} of ${words(list)}`;
}

/** Options a capture asked for and did not get: a list of sentences, or names with reasons. */
export function refusals(value: unknown): string[] {
  if (Array.isArray(value)) return value.map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
  if (value !== null && typeof value === "object") {
    return Object.entries(value).map(
      ([name, reason]) => `${name}: ${typeof reason === "string" ? reason : JSON.stringify(reason)}`,
    );
  }
  return [];
}
