"""Columns and groupings that several tables share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from stepscope.analysis.groups import Groups
from stepscope.schema import NONE
from stepscope.tables.frame import Column, Frame, known, texts

#: A label and how values read come first, then the definition.
START = Column("start_ns", "Start", "moment", "When it began, after the beginning of the timeline.")
STEP = Column("step", "Step", "id", "The training step that it, or the call that launched it, began in.")
STREAM = Column("stream", "Stream", "text", "The device and the queue on which it ran.")
OPERATOR = Column("operator", "Operator", "text", "The innermost operator around the call that launched it.")
MODULE = Column(
    "module", "Module", "text", "The modules around it, the outermost first; of device work, around its launch."
)
THREAD = Column("thread", "Thread", "text", "The thread of the host on which it ran.")
P50 = Column("p50_ns", "Median", "ns", "Median duration, by nearest rank.")
P99 = Column("p99_ns", "p99", "ns", "99th percentile of the durations, by nearest rank.")


#: What NVIDIA's names for parts of a GPU are called on AMD's.
_AMD_WORDS = (
    ("Tensor Core", "Matrix Core"),
    ("TC ", "MC "),
    ("Blocks/SM", "Blocks/CU"),
    ("multiprocessor", "compute unit"),
)


def worded(made: Frame, is_amd: bool) -> Frame:
    """The table in the words of the GPUs' maker."""
    if not is_amd:
        return made
    columns = [replace(one, label=_of_amd(one.label), about=_of_amd(one.about)) for one in made.columns]
    return replace(made, columns=tuple(columns))


def _of_amd(text: str) -> str:
    for name, theirs in _AMD_WORDS:
        text = text.replace(name, theirs)
    return text


def share(values: Sequence[int | None]) -> list[float | None]:
    """Each value divided by the sum of all; None where there is nothing to divide by."""
    total = sum(v for v in values if v is not None)
    return [None if v is None or not total else v / total for v in values]


def means(totals: Sequence[int | None], counts: Sequence[int]) -> list[float | None]:
    return [None if total is None else total / n for total, n in zip(totals, counts, strict=True)]


def spread(groups: Groups, dur_ns: np.ndarray) -> dict[str, list[int]]:
    """Median and 99th percentile of each group."""
    p50, p99 = groups.nearest_rank(dur_ns, 50, 99)
    return {"p50_ns": p50.tolist(), "p99_ns": p99.tolist()}


def shifted(code: np.ndarray) -> np.ndarray:
    """Codes as keys of groups: ``NONE`` becomes 0."""
    return code + 1


def labels(keys: np.ndarray, values: Sequence[str | None]) -> Any:
    """The texts of shifted keys."""
    return texts(keys - 1, values)


def step_column(steps: np.ndarray) -> tuple[Column, Any]:
    return STEP, known(steps, steps != NONE)
