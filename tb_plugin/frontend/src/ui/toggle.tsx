// A row of buttons of which one is pressed.

import type { JSX } from "preact";

interface ToggleChoice {
  value: string;
  label: string;
  title?: string;
  off?: string | false; // why it cannot be chosen
}

export function Toggle(props: {
  label: string;
  value: string;
  choices: ToggleChoice[];
  onChoose: (value: string) => void;
}): JSX.Element {
  return (
    <div class="segmented" role="group" aria-label={props.label}>
      {props.choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          aria-pressed={props.value === choice.value}
          disabled={Boolean(choice.off)}
          title={choice.off || choice.title}
          onClick={() => props.onChoose(choice.value)}
        >
          {choice.label}
        </button>
      ))}
    </div>
  );
}
