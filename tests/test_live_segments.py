"""The always-on stream in segments against one layout of all of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from stepscope.schema import COLUMN_DTYPES, LIVE_SCHEMA, Kind
from stepscope.timeline import live
from stepscope.timeline.lanes import Lanes
from stepscope.timeline.live import LIVE_BASE, LiveStream, Names
from stepscope.timeline.segment import Segment

Row = tuple[Kind, str, int, int, int, int, str | None]  # as in LIVE_SCHEMA


def training(steps: int, epoch: int, spread: int = 0) -> Iterator[Row]:
    """Steps of 100 ns that touch, each with two phases and a region; around every ``epoch`` steps a region that comes
    when it is over. ``spread``: how many steps a slice of another thread goes on, so that there is no place to cut."""
    for i in range(steps):
        at = 1000 + 100 * i
        yield Kind.PHASE, "forward", at, 50, i, 7, None
        yield Kind.ANNOTATION, "loss", at + 10, 5, i, 7, f'{{"step":{i}}}'
        yield Kind.PHASE, "backward", at + 50, 50, i, 7, None
        yield Kind.STEP, "step", at, 100, i, 7, None
        if spread and i % spread == 0:
            yield Kind.ANNOTATION, "save", at + 30, 100 * spread, -1, 8, None
        if (i + 1) % epoch == 0:
            yield Kind.ANNOTATION, "epoch", at + 100 - 100 * epoch, 100 * epoch, -1, 7, None


def table(rows: list[Row]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, LIVE_SCHEMA, strict=True)], schema=LIVE_SCHEMA)


def grown(rows: list[Row], batch: int) -> Iterator[LiveStream]:
    stream = LiveStream(Names(), Lanes("host", 1, 0))
    for at in range(0, len(rows), batch):
        stream.append(table(rows[at : at + batch]))
        yield stream


def laid_out(segments: list[Segment]) -> list[tuple]:
    """Of each row its number, text, args, columns, lane and depth."""
    out = []
    for s in segments:
        e = s.events
        columns = [getattr(e, c).tolist() for c in COLUMN_DTYPES if c not in ("depth", "name", "args", "lane")]
        texts = [e.text(i) for i in range(len(e))], [e.args_of(i) for i in range(len(e))]
        numbers = range(s.base, s.base + len(e))
        out += list(zip(numbers, *texts, *columns, s.lane.tolist(), s.depth.tolist(), strict=True))
    return out


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_OPEN_ROWS", 40)
    monkeypatch.setattr(live, "_LARGEST_ROWS", 1500)


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("batch", [3, 33, 700])
@pytest.mark.parametrize(("epoch", "spread"), [(10**6, 0), (1, 0), (60, 0), (60, 20), (10**6, 10**5)])
def test_segments_hold_what_one_layout_of_all_rows_would(batch: int, epoch: int, spread: int) -> None:
    rows = list(training(150, epoch, spread))
    *_, stream = grown(rows, batch)
    whole = LiveStream(Names(), Lanes("host", 1, 0))
    whole.append(table(rows))
    together = Segment(*_joined(whole), base=LIVE_BASE)
    assert laid_out(stream.segments) == laid_out([together])


def _joined(stream: LiveStream) -> tuple:
    part = stream._joined(stream._parts)
    return part.events, part.lane, np.arange(len(part.events.names))


@pytest.mark.usefixtures("small_segments")
def test_segments_are_few_follow_one_another_and_stay() -> None:
    laid_out_rows = 0
    had: list[Segment] = []
    for stream in grown(list(training(2000, 10**6)), batch=20):
        laid_out_rows += sum(len(s.events) for s in stream.segments if s not in had)
        had = stream.segments
        assert all(a.end_ns <= b.begin_ns for a, b in itertools.pairwise(had))
    # 8,000 rows: the largest segments hold 750 to 1500, below them one of each size from 40 on, halved
    assert len(had) <= 11 + 6
    # a row is laid out while it is open and once for each size that its segment has
    assert laid_out_rows < 8_000 * 8


@pytest.mark.usefixtures("small_segments")
def test_a_region_around_much_takes_in_what_it_holds() -> None:
    *_, stream = grown(list(training(200, 200)), batch=20)
    (segment,) = stream.segments
    assert len(segment.events) == 801
    assert segment.depth[[segment.events.text(i) == "loss" for i in range(801)]].tolist() == [1] * 200
