"""The step that looks like the one before it: told by comparing marks, without making sense of them again.

Most steps of a training make the same marks in the same order. Once one of them has been worked out, the
next ones need two comparisons and one append on the training thread; the writer thread makes the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import get_native_id

from stepscope.recorder import Row
from stepscope.schema import Kind
from stepscope_torch.steps import Phase

_STEP, _PHASE = int(Kind.STEP), int(Kind.PHASE)


@dataclass(frozen=True)
class Regular:
    """A step from the request of its batch to the request of the next.

    ``keys`` are its marks; ``phases`` says of which two marks each phase is made, and ``tid`` on which thread.
    """

    keys: list[tuple[int, object]]
    phases: tuple[tuple[str, int, int], ...]
    tid: int

    def rows(self, number: int, times: Sequence[int]) -> list[Row]:
        """The rows of step ``number`` with the same marks at ``times``."""
        rows: list[Row] = [(_STEP, "step", times[0], times[-1], number, None)]
        rows += [(_PHASE, name, times[i], times[j], number, None) for name, i, j in self.phases]
        return rows


def learn(keys: list[tuple[int, object]], times: Sequence[int], phases: Sequence[Phase]) -> Regular | None:
    """What the marks of a step made, for the next ones; None if two marks have one time, which decides nothing."""
    place = {time: i for i, time in enumerate(times)}
    if len(place) < len(times):
        return None
    return Regular(keys, tuple((name, place[start], place[end]) for name, start, end in phases), get_native_id())
