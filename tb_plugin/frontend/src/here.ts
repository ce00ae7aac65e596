// What the user asked for by a click or a key and an answer must come for: it is not done once they went elsewhere.

import { key } from "./data";
import { nav } from "./state";

const place = () => {
  const { tab, whole, slice, of } = nav.peek();
  return [key.peek(), tab, whole, slice, of];
};

/** Remember where the user is. What it gives tells whether they still are: the same worker, tab and selection. */
export function here(): () => boolean {
  const before = place();
  return () => place().every((now, i) => now === before[i]);
}
