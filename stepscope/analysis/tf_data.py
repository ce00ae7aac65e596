"""The input pipeline of TensorFlow by stage: how long each takes, whether its buffer runs empty, what to tune."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepscope.analysis import intervals
from stepscope.analysis.nesting import nest
from stepscope.analysis.select import covered, host_rows
from stepscope.schema import NONE, Events, Kind

_PREFIX = "Iterator::"
_SEPARATOR = "::"
#: What the stages that hold elements ready tell of themselves.
_BUFFERED = ("buffer_limit", "buffer_size", "parallelism", "max_batch_results")
#: What shows that tf.data models the pipeline, as it does unless its autotuning is switched off.
_MODELLED = ("algorithm", "buffered_elements")
#: A stage hands its slowness on to its input while that takes at least this share of its own time.
_FOLLOW_RATIO = 0.5
#: Below this share of the loop the wait is not worth tuning.
WORTH_TUNING_RATIO = 0.05

#: Advice by what the name of the slowest stage begins with, the first that fits; None stands for the rest.
_ADVICE: tuple[tuple[str, str], ...] = (
    (
        r"Generator|FlatMap.*Generator|PyFunc",
        "It runs Python, one element at a time: do this work with TensorFlow operations, or in several processes.",
    ),
    (
        r"ParallelMap|MapAndBatch|ParallelInterleave|ParallelBatch|ParallelFilter",
        "Its function is slow: let it run more often at once (num_parallel_calls=tf.data.AUTOTUNE), map whole batches, "
        "or cache() what does not change.",
    ),
    (
        r"Map|Filter|Interleave|Batch|PaddedBatch",
        "It works on one element after the other: give it num_parallel_calls=tf.data.AUTOTUNE.",
    ),
    (
        r"TFRecord|TextLine|FixedLengthRecord|CSV|SqlDataset",
        "Reading is slow: read several files at once (interleave with num_parallel_calls), store larger or compressed "
        "records nearer to the machine, or cache().",
    ),
    (r"Shuffle", "It was filling its buffer: a smaller buffer_size starts sooner; shuffle before decoding."),
    (r"Cache|Memory|Snapshot", "The first epoch fills the cache; look at a later one."),
)
_OTHER_ADVICE = "Make it cheaper, or take it out of the loop: cache() keeps what does not change."
_PREFETCH_ADVICE = "Nothing runs ahead of the training: end the pipeline with prefetch(tf.data.AUTOTUNE)."


@dataclass(frozen=True)
class TfDataStage:
    """One stage of a tf.data pipeline in the deep windows; the stage that the training reads from comes first.

    A stage that works ahead is called in threads of its own; then its input's time overlaps the training.

    Metrics:
        stage: kind of the stage
        path: stages from the training down to this one
        depth: how many stages lie between it and the training
        calls: elements that were asked of it
        total_ns: sum of the times that its callers waited for it, over all threads
        self_ns: the same without the calls of its own input in the same thread
        in_background: whether a stage in front of it calls it ahead of time, in another thread
        parallelism: calls of its function that may run at once; null where it tells none
        autotuned: whether TensorFlow chooses its parallelism or buffer; null where it does not tell
        buffer_size: elements that its buffer may hold; null without one or where it does not tell
        buffered_calls: calls that found an element ready in its buffer; null without a buffer, or where TensorFlow
            does not count
        empty_ratio: share of its calls that found its buffer empty; null like ``buffered_calls``
    """

    stage: str
    path: str
    depth: int
    calls: int
    total_ns: int
    self_ns: int
    in_background: bool
    parallelism: int | None
    autotuned: bool | None
    buffer_size: int | None
    buffered_calls: int | None
    empty_ratio: float | None


@dataclass(frozen=True)
class TfData:
    """The tf.data pipelines of a worker in its deep windows; null without any.

    The slowest stage is found from the training down: a stage hands over to the slowest of its inputs while the calls
    of that take at least half as long as its own.

    Metrics:
        stages: stages, from the training to the source
        fetches: elements that the training asked for
        wait_ns: time in which the training waited for one
        loop_ns: time in which it waited or was in a step, each moment once; null without steps
        wait_ratio: ``wait_ns`` / ``loop_ns``; from 0.05 on the pipeline is worth tuning
        slowest: path of the slowest stage
        advice: what to tune there; null where ``wait_ratio`` is below 0.05 or null
    """

    stages: list[TfDataStage]
    fetches: int
    wait_ns: int
    loop_ns: int | None
    wait_ratio: float | None
    slowest: str
    advice: str | None


def tf_data(events: Events) -> TfData | None:
    """The tf.data pipelines in deep windows, None without any."""
    is_stage = np.array([name.startswith(_PREFIX) for name in events.names], bool)
    rows = host_rows(events, Kind.OP)
    rows = rows[is_stage[events.name[rows]]] if len(rows) else rows
    if len(rows) == 0:
        return None
    stages = _stages(events, rows)
    slowest = _slowest(stages)
    steps = covered(events, host_rows(events, Kind.STEP))
    waits = covered(events, host_rows(events, Kind.DATALOADER))
    wait_ns = intervals.length(waits)
    loop_ns = intervals.length(intervals.unite((steps, waits))) if len(steps) else None
    ratio = wait_ns / loop_ns if loop_ns else None
    return TfData(
        stages=stages,
        fetches=sum(stage.calls for stage in stages if stage.depth == 0),
        wait_ns=wait_ns,
        loop_ns=loop_ns,
        wait_ratio=ratio,
        slowest=slowest.path,
        advice=_advice(slowest, stages) if ratio is not None and ratio >= WORTH_TUNING_RATIO else None,
    )


def _stages(events: Events, rows: np.ndarray) -> list[TfDataStage]:
    tree = nest(events, rows)
    own = tree.self_ns(events)
    name = events.name[tree.rows]
    above = np.where(tree.parent != NONE, name[tree.parent], NONE)
    training = np.unique(events.lane[host_rows(events, Kind.DATALOADER)])
    # A stage tells of the elements in its buffer only while there are some, and only where tf.data models the pipeline.
    told_keys = {key for i in _distinct_args(events, tree.rows) for key in json.loads(events.args_values[i])}
    tells_buffered = not told_keys.isdisjoint(_MODELLED)
    found = []
    for code in np.unique(name).tolist():
        mine = name == code
        path = events.names[code][len(_PREFIX) :]
        front = _PREFIX + path.rpartition(_SEPARATOR)[0]
        enclosing = {events.names[a] for a in np.unique(above[mine]).tolist() if a != NONE}
        dur = events.dur_ns[tree.rows[mine]]
        told = _told(events, tree.rows[mine])
        calls = len(dur)
        has_buffer = tells_buffered and any(key in args for args, _ in told for key in _BUFFERED)
        ready = sum(n for args, n in told if _number(args.get("buffered_elements"))) if has_buffer else None
        latest = {key: value for args, _ in told for key, value in args.items()}
        found.append(
            TfDataStage(
                stage=path.rpartition(_SEPARATOR)[2],
                path=path,
                depth=path.count(_SEPARATOR),
                calls=calls,
                total_ns=int(dur.sum()),
                self_ns=int(own[mine].sum()),
                in_background=front not in enclosing and not np.isin(events.lane[tree.rows[mine]], training).any(),
                parallelism=_number(latest.get("parallelism")),
                autotuned={"true": True, "false": False}.get(str(latest.get("autotune")).lower()),
                buffer_size=_number(latest.get("buffer_limit")) or _number(latest.get("buffer_size")),
                buffered_calls=ready,
                empty_ratio=None if ready is None else (calls - ready) / calls,
            )
        )
    return sorted(found, key=lambda stage: (stage.depth, -stage.total_ns, stage.path))


def _distinct_args(events: Events, rows: np.ndarray) -> list[int]:
    return [i for i in np.unique(events.args[rows]).tolist() if i != NONE]


def _told(events: Events, rows: np.ndarray) -> list[tuple[dict[str, Any], int]]:
    """What calls told of their stage, and how many told just that."""
    counts = Counter(events.args[rows].tolist())
    return [({} if code == NONE else json.loads(events.args_values[code]), n) for code, n in counts.items()]


def _number(value: object) -> int | None:
    """A count that a stage told; -1 and "unavailable" are none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _slowest(stages: Sequence[TfDataStage]) -> TfDataStage:
    """The stage that the others wait for."""
    at = max((s for s in stages if s.depth == stages[0].depth), key=lambda s: s.total_ns)
    while True:
        inputs = [s for s in stages if s.path.rpartition(_SEPARATOR)[0] == at.path]
        slowest = max(inputs, key=lambda s: s.total_ns, default=None)
        if slowest is None or slowest.total_ns < _FOLLOW_RATIO * at.total_ns:
            return at
        at = slowest


def _advice(slowest: TfDataStage, stages: Sequence[TfDataStage]) -> str:
    if not any(s.in_background for s in stages):
        return _PREFETCH_ADVICE
    return next((text for begin, text in _ADVICE if re.match(begin, slowest.stage)), _OTHER_ADVICE)
