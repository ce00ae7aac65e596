// A text on one line whose middle gives way where there is no room.

import type { JSX } from "preact";
import { halves } from "./cells";

export function Mid({ text }: { text: string }): JSX.Element {
  const [head, tail] = halves(text, 22);
  if (tail === "") return <bdi>{text}</bdi>;
  return (
    <bdi class="mid">
      <span class="mid-head">{head}</span>
      <span class="mid-tail">{tail}</span>
    </bdi>
  );
}
