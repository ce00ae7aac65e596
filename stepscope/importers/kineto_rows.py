"""What one batch of a Kineto trace holds, before it is known what its texts mean: columns of JSON texts and numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from stepscope.importers.json_careful import RawEvent
from stepscope.importers.json_repair import decode_text
from stepscope.importers.kineto_args import Args, TextArgs
from stepscope.importers.text_columns import Coded, parse_scaled, text_column

# Phases of the Chrome trace format, as they are treated here; up to COUNTER they become rows. The native
# scanner knows these numbers too.
SLICE, BEGIN, END, INSTANT, COUNTER, METADATA, FLOW, OTHER, MISSING = range(9)
PHASES = {
    "X": SLICE, "B": BEGIN, "E": END, "i": INSTANT, "I": INSTANT, "R": INSTANT, "C": COUNTER,
    "M": METADATA, "s": FLOW, "t": FLOW, "f": FLOW, "": MISSING,
}  # fmt: skip


class Metadata(NamedTuple):
    """A metadata event, as JSON texts."""

    name: bytes
    pid: bytes
    tid: bytes
    args: bytes


@dataclass
class Rows:
    """The events of a batch that hold data, as columns of shape (n,) in file order; how many others there were.

    ``ts`` and ``dur`` are int64 ns, 0 where the mask beside them tells that there is no number.
    """

    phase: np.ndarray
    category: Coded
    name: Coded
    pid: Coded
    tid: Coded
    ts: np.ndarray
    ts_valid: np.ndarray
    dur: np.ndarray
    dur_valid: np.ndarray
    args: Args
    seen: int = 0  # records of any phase
    missing: int = 0  # ... of no phase
    other: int = 0  # ... of a phase that is not read
    metadata: list[Metadata] | tuple[()] = ()

    def take(self, rows: np.ndarray) -> Rows:
        """These rows alone."""
        columns = ("phase", "ts", "ts_valid", "dur", "dur_valid")
        coded = ("category", "name", "pid", "tid", "args")
        return replace(
            self,
            **{name: getattr(self, name)[rows] for name in columns},
            **{name: getattr(self, name).take(rows) for name in coded},
        )


def plain_text(raw: bytes) -> str:
    return decode_text(raw)[0]


def rows_of(events: list[RawEvent]) -> Rows:
    """The batch that these events make."""
    phases = Coded.of(text_column([event.ph for event in events]))
    phase = np.array([PHASES.get(plain_text(raw), OTHER) for raw in phases.distinct], np.int8)[phases.codes]
    metadata = [
        Metadata(*(bytes(text) for text in (event.name, event.pid, event.tid, event.args)))
        for event in (events[row] for row in np.flatnonzero(phase == METADATA).tolist())
    ]
    rows = np.flatnonzero(phase <= COUNTER)
    data = [events[row] for row in rows.tolist()]
    ts, ts_valid = parse_scaled(text_column([event.ts for event in data]), 3)
    dur, dur_valid = parse_scaled(text_column([event.dur for event in data]), 3)
    return Rows(
        phase=phase[rows],
        category=Coded.of(text_column([event.cat for event in data])),
        name=Coded.of(text_column([event.name for event in data])),
        pid=Coded.of(text_column([event.pid for event in data])),
        tid=Coded.of(text_column([event.tid for event in data])),
        ts=ts,
        ts_valid=ts_valid,
        dur=dur,
        dur_valid=dur_valid,
        args=TextArgs([event.args for event in data]),
        seen=len(events),
        missing=int(np.count_nonzero(phase == MISSING)),
        other=int(np.count_nonzero(phase == OTHER)),
        metadata=metadata,
    )
