// Says that a program is not all there: what is shown of it is true, and not all.

import type { JSX } from "preact";

export function Damaged({ is }: { is: boolean }): JSX.Element | null {
  return is ? (
    <p class="banner warn" role="status" data-testid="xla-damaged">
      Parts of this program could not be read: the profile is damaged or was cut. What could be read is shown;
      instructions, and whatever they read, may be missing.
    </p>
  ) : null;
}
