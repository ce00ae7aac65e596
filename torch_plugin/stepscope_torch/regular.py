"""The step that looks like the one before it: told by comparing marks, without making sense of them again.

Once a step has been worked out, ``Marks`` keeps the times of the next ones that make the same marks; so they are
written, and who reads them makes their rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import get_native_id

from stepscope.live_columns import AlikeSteps
from stepscope.marks import Key
from stepscope_torch.steps import Phase

_TIME_BYTES = 8


@dataclass(frozen=True, eq=False)
class Regular:
    """A step from the request of its batch to the request of the next.

    ``keys`` are its marks; ``phases`` says of which two marks each phase is made, and ``tid`` on which thread.
    """

    keys: list[Key]
    phases: tuple[tuple[str, int, int], ...]
    tid: int

    def makes_the_same_as(self, other: Regular) -> bool:
        return (self.keys, self.phases, self.tid) == (other.keys, other.phases, other.tid)

    def steps(self, runs: Sequence[tuple[int, bytes]]) -> AlikeSteps:
        """The steps that made the same marks, given as number of the first of some that follow one another and times
        of all their marks, int64, step by step.
        """
        size = _TIME_BYTES * len(self.keys)
        data = b"".join(times for _, times in runs)
        counts = [(first, len(times) // size) for first, times in runs]
        return AlikeSteps(self.tid, self.phases, counts, len(self.keys), data)


def learn(keys: list[Key], times: Sequence[int], phases: Sequence[Phase]) -> Regular | None:
    """What the marks of a step made, for the next ones; None if two marks have one time, which decides nothing."""
    place = {time: i for i, time in enumerate(times)}
    if len(place) < len(times):
        return None
    return Regular(keys, tuple((name, place[start], place[end]) for name, start, end in phases), get_native_id())
