// Every number with its unit and definition, and every code of the quality notes: to be searched.

import type { JSX } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { plural } from "../format";
import { Resource } from "../resource";
import { Card } from "../ui/card";
import { Icon } from "../ui/icons";
import { Await } from "../ui/states";
import { getDefinitions, type DefinitionsAnswer, type DefinitionSection } from "./data-requests";

/** The same for all workers. */
const definitions = new Resource<DefinitionsAnswer>();

export function Formulas(): JSX.Element {
  const [text, setText] = useState("");
  useLayoutEffect(() => {
    if (!definitions.busy && definitions.now.peek().value === null) void definitions.load(getDefinitions);
  }, []);
  return (
    <Card
      title="What every number means"
      actions={
        <label class="search-box">
          <Icon shape="search" />
          <input
            type="search"
            placeholder="Search the definitions"
            aria-label="Search the definitions"
            data-testid="definition-search"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
      }
      testId="formulas"
    >
      <Await of={definitions.now.value} what="the definitions">
        {(answer) => <Found answer={answer} words={wordsOf(text)} />}
      </Await>
    </Card>
  );
}

const wordsOf = (text: string) => text.toLowerCase().split(/\s+/).filter(Boolean);

/** Sections with the entries that have all words in the entry or in what the section is about. */
export function sectionsWith(answer: DefinitionsAnswer, words: readonly string[]): DefinitionSection[] {
  const codes: DefinitionSection = {
    title: "Data quality notes",
    place: "workers[].quality[]",
    text: "What was dropped, repaired, guessed or absent, and how often. Nothing is left out without one.",
    metrics: Object.entries(answer.codes).map(([name, meaning]) => ({ name, unit: "", meaning })),
  };
  return [...answer.sections, codes].flatMap((section) => {
    const about = `${section.title} ${section.place} ${section.text}`.toLowerCase();
    if (words.every((word) => about.includes(word))) return [section];
    const metrics = section.metrics.filter(({ name, meaning }) => {
      const all = `${about} ${name} ${name.replaceAll("_", " ")} ${meaning}`.toLowerCase();
      return words.every((word) => all.includes(word));
    });
    return metrics.length > 0 ? [{ ...section, metrics }] : [];
  });
}

/** The entries are made when they are first seen: there are hundreds. */
function Entries({ section, open }: { section: DefinitionSection; open: boolean }): JSX.Element {
  const [seen, setSeen] = useState(false);
  return (
    <details class="definitions" open={open} onToggle={(event) => event.currentTarget.open && setSeen(true)}>
      <summary>
        {section.title} <code class="faint">{section.place}</code>
      </summary>
      {(open || seen) && (
        <>
          <p>{section.text}</p>
          <dl>
            {section.metrics.map(({ name, unit, meaning }) => (
              <div key={name}>
                <dt>
                  <code>{name}</code> <span class="faint">{unit}</span>
                </dt>
                <dd>{meaning}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
    </details>
  );
}

function Found({ answer, words }: { answer: DefinitionsAnswer; words: readonly string[] }): JSX.Element {
  const sections = sectionsWith(answer, words);
  const entries = sections.reduce((sum, section) => sum + section.metrics.length, 0);
  return (
    <>
      <p class="basis" role="status" data-testid="definition-count">
        {entries === 0 ? "No definition has these words." : `${plural(entries, "definition")}`}
      </p>
      {sections.map((section) => (
        <Entries key={section.title} section={section} open={words.length > 0} />
      ))}
    </>
  );
}
