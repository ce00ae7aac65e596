"""The step that looks like the one before it: told by comparing marks, without making sense of them again.

Once a step has been worked out, ``Marks`` keeps the times of the next ones that make the same marks; the writer
thread makes their rows, those of all steps at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import get_native_id

import numpy as np

from stepscope.live_columns import Columns, Names
from stepscope.marks import Key
from stepscope.schema import Kind
from stepscope_torch.steps import Phase


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

    def columns(self, numbers: np.ndarray, times: np.ndarray, names: Names) -> Columns:
        """The steps of these numbers and their phases, with the same marks at ``times``, step by step."""
        at = times.reshape(-1, len(self.keys))
        begins = [0, *(begin for _, begin, _ in self.phases)]
        ends = [len(self.keys) - 1, *(end for _, _, end in self.phases)]
        kinds = [int(Kind.STEP)] + [int(Kind.PHASE)] * len(self.phases)
        rows = len(begins)
        start = at[:, begins]
        return Columns(
            kind=np.tile(np.array(kinds, np.uint8), len(at)),
            name=np.tile(names.codes(["step", *(name for name, _, _ in self.phases)]), len(at)),
            start_ns=start.ravel(),
            dur_ns=(at[:, ends] - start).ravel(),
            step=np.repeat(numbers, rows),
            tid=np.full(len(at) * rows, self.tid),
            told_ns=np.repeat(at[:, -1], rows),
        )


def learn(keys: list[Key], times: Sequence[int], phases: Sequence[Phase]) -> Regular | None:
    """What the marks of a step made, for the next ones; None if two marks have one time, which decides nothing."""
    place = {time: i for i, time in enumerate(times)}
    if len(place) < len(times):
        return None
    return Regular(keys, tuple((name, place[start], place[end]) for name, start, end in phases), get_native_id())
