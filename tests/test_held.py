"""What a bound on memory counts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stepscope.held import array_bytes
from stepscope.tables import Tables
from stepscope.timeline import Timeline
from tests.tables.build import training, worker_of


def test_each_array_counts_once_and_a_view_as_the_whole() -> None:
    whole = np.zeros(100, np.int64)
    assert array_bytes([whole, whole[:3], {"again": [whole[5:]]}]) == 800
    assert array_bytes([whole, np.zeros(5, np.int8)], without=[[whole[:1]]]) == 5


def test_what_objects_of_others_hold_is_left_out() -> None:
    @dataclass
    class Other:
        values: Any

    assert array_bytes([Other(np.zeros(3))]) == 0


def test_tables_count_the_analyses_that_they_are_made_of(tmp_path: Path) -> None:
    timeline = Timeline(worker_of(tmp_path, training()))
    tables = Tables(timeline)
    assert tables.nbytes == 0
    frame = tables.frame("kernels", "name")
    runs = tables.source.runs
    assert tables.nbytes >= frame.nbytes + array_bytes([runs], without=[s.events for s in timeline.segments()])
