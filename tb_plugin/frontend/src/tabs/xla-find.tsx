// A search for instructions of a program by name, opcode or the framework's name.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { count } from "../format";
import { useFetched } from "../ui/fetched";
import { Icon } from "../ui/icons";
import { findOps, type FoundAnswer, type ProgramInfo } from "../xla/requests";

type Row = FoundAnswer["rows"][number];
const NOTHING: FoundAnswer = { count: 0, rows: [] };

export function FindOp(props: { program: ProgramInfo; onChoose: (row: Row) => void }): JSX.Element {
  const { program, onChoose } = props;
  const [text, setText] = useState("");
  const [entered, setEntered] = useState<string | null>(null);
  const answer = useFetched(`xla find ${program.id} ${text}`, async (key, signal) => ({
    text,
    found: text === "" ? NOTHING : await findOps(key, program.id, text, signal),
  })).value;
  const found = answer?.found;
  const choose = (row: Row | undefined) => {
    if (!row) return;
    setText("");
    onChoose(row);
  };
  useEffect(() => {
    // Enter may follow the last letter at once: what was found for the letters before is not what was meant.
    if (entered === null || (entered === text && answer?.text !== text)) return;
    setEntered(null);
    if (entered === text) choose(found?.rows[0]);
  }, [entered, text, answer]);
  return (
    <div
      class="xla-find no-picture"
      role="search"
      onKeyDown={(event) => {
        if (event.key === "Escape") setText("");
      }}
    >
      <label class="field">
        <Icon shape="search" />
        <input
          type="text"
          value={text}
          placeholder="Find an instruction"
          aria-label="Find an instruction by name, opcode or operator"
          data-testid="xla-find"
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") setEntered(event.currentTarget.value);
          }}
        />
      </label>
      {text !== "" && found && (
        <ul class="xla-found">
          {found.rows.map((row) => (
            <li key={row.op}>
              <button type="button" data-testid="xla-hit" onClick={() => choose(row)}>
                <bdi>{row.op}</bdi>{" "}
                <span class="faint">
                  {row.opcode} in {row.computation}
                  {row.op_name && `, ${row.op_name}`}
                </span>
              </button>
            </li>
          ))}
          <li class="faint" role="status">
            {found.count > found.rows.length
              ? `${count(found.rows.length)} of ${count(found.count)}`
              : found.count === 0
                ? "None"
                : ""}
          </li>
        </ul>
      )}
    </div>
  );
}
