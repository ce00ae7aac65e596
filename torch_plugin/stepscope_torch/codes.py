"""What the hooks mark: the codes of marks, the keys that are marked, and what the latest marks say is open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from stepscope.marks import Key
from stepscope.watch import Activity
from stepscope_torch.steps import INPUT_WAIT

FORWARD = "forward"
BACKWARD = "backward"
OPTIMIZER = "optimizer"
H2D = "h2d"

# Codes of marks. Each begin of a phase is its number in NAMES; a forward is marked with how it runs besides.
IN_INPUT, IN_FORWARD, IN_BACKWARD, IN_OPTIMIZER, IN_H2D = range(5)
NAMES = (INPUT_WAIT, FORWARD, BACKWARD, OPTIMIZER, H2D)
END = 8  # added to the code of a phase
GRAD, TRAINING = 16, 32  # added to IN_FORWARD
EXHAUSTED = 64  # instead of the end of IN_INPUT: there was no further batch
COUNTS = 128  # added to the end of IN_OPTIMIZER: this one ends a step of the loop

INPUT_BEGIN: Key = (IN_INPUT, None)
INPUT_EXHAUSTED: Key = (EXHAUSTED, None)
H2D_BEGIN: Key = (IN_H2D, None)
H2D_END: Key = (IN_H2D + END, None)
# Those that hooks may mark by themselves in the fast modes.
INPUT_END: Key = (IN_INPUT + END, None)
BACKWARD_BEGIN: Key = (IN_BACKWARD, None)
BACKWARD_END: Key = (IN_BACKWARD + END, None)

#: The phases that each phase may lie in and still count as itself. At the top of the loop all count.
INSIDE: tuple[frozenset[int], ...] = (
    frozenset(),
    frozenset({IN_OPTIMIZER}),
    frozenset({IN_FORWARD, IN_OPTIMIZER}),
    frozenset(),
    frozenset({IN_FORWARD, IN_OPTIMIZER}),
)


def forward_keys(module: torch.nn.Module) -> tuple[Key, Key]:
    """Of the begin and the end of a forward that trains."""
    return (IN_FORWARD + GRAD + TRAINING, module), (IN_FORWARD + END, module)


def optimizer_keys(optimizer: object) -> tuple[Key, Key]:
    """Of the begin and the end of the step of an optimizer that counts."""
    return (IN_OPTIMIZER, optimizer), (IN_OPTIMIZER + END + COUNTS, optimizer)


def activity_after(step: int, opened: list[tuple[int, int]], marks: Sequence[Any]) -> Activity:
    """What is open after some marks.

    Args:
        step: the number of the step.
        opened: code and begin of the phases that were open before; it is changed.
        marks: keys and times in turn.
    """
    latest = None
    entries = iter(marks)
    for (code, _), now in zip(entries, entries, strict=False):
        latest = now
        if code == EXHAUSTED or code & END:
            phase = IN_INPUT if code == EXHAUSTED else code & 7
            while opened and opened.pop()[0] != phase:
                pass
        else:
            opened.append((code & 7, now))
    return Activity(step, NAMES[opened[-1][0]], opened[-1][1]) if opened else Activity(step, None, latest)
