"""Which rows of a table are shown, in which order, and what one row stands for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analysis.launches import link
from stepscope.analysis.queue_depth import queue_depths
from stepscope.schema import NONE
from stepscope.tables import Tables
from stepscope.tables.frame import Column, Frame, frame, texts
from stepscope.tables.launch_charts import launch_points, queue_points
from stepscope.tables.occurrences import details, row_of
from stepscope.tables.ordered import Ordered
from stepscope.tables.query import BadQuery, Bound, Query, select, select_tree
from stepscope.timeline import LIVE_BASE, Timeline
from stepscope.timeline.one_slice import slice_of
from stepscope.timeline.search import BadPattern
from tests.builders import T0_NS, TraceBuilder
from tests.recorded import RecordedRun
from tests.tables.build import rows_of, tables_of, training

WORDS = ("Gemm_bf16", "relu", "=cmd()", "gemm_fp32")


def small(numbers: Sequence[float | None] = (3, None, 1, 2), which: Sequence[int] = (0, 1, NONE, 3)) -> Frame:
    name = Column("name", "Name", "text", "")
    value = Column("value", "Value", "ns", "")
    return frame([(name, texts(np.array(which), WORDS)), (value, list(numbers))], np.arange(len(numbers)), "value")


def shown(query: Query) -> list[int]:
    return select(small(), query).all().tolist()


def test_what_is_not_known_comes_last_whichever_way_the_rest_is_sorted() -> None:
    assert shown(Query()) == [0, 3, 2, 1]
    assert shown(Query(descending=False)) == [2, 3, 0, 1]
    assert shown(Query("name", descending=False)) == [0, 3, 1, 2]  # letters, whatever their case
    assert shown(Query("name")) == [1, 3, 0, 2]


def test_filters() -> None:
    assert shown(Query(text="GEMM")) == [0, 3]
    assert shown(Query(text="gemm.*16", regex=True)) == [0]
    assert shown(Query(text=".*")) == []
    assert shown(Query(bounds=(Bound("value", 2, None),))) == [0, 3]
    assert shown(Query(bounds=(Bound("value", None, 2),))) == [3, 2]  # a value that is not known lies nowhere
    assert shown(Query(text="gemm", bounds=(Bound("value", 2, 2),))) == [3]


def test_what_the_table_does_not_have() -> None:
    with pytest.raises(BadQuery, match="no column 'speed'"):
        shown(Query("speed"))
    with pytest.raises(BadQuery, match="no column of numbers 'name'"):
        shown(Query(bounds=(Bound("name", 1, None),)))
    with pytest.raises(BadPattern, match="no regular expression"):
        shown(Query(text="(", regex=True))


@given(st.lists(st.one_of(st.none(), st.integers(-5, 5)), min_size=1, max_size=20), st.booleans())
def test_sorting_keeps_every_row_once(values: list[int | None], descending: bool) -> None:
    of = small(values, [NONE] * len(values))
    order = select(of, Query(descending=descending)).all().tolist()
    assert sorted(order) == list(range(len(values)))
    ordered = [values[i] for i in order]
    known = [v for v in ordered if v is not None]
    assert known == sorted(known, reverse=descending)
    assert ordered[len(known) :] == [None] * (len(values) - len(known))


KEYS = st.lists(st.sampled_from([1.0, 2.0, 3.0, np.nan]), min_size=30, max_size=60)


@given(KEYS, st.integers(0, 3), st.integers(1, 6))
def test_the_first_rows_are_those_of_the_whole_order(keys: list[float], begin: int, end: int) -> None:
    rows = np.arange(len(keys)) * 10
    part = Ordered(rows, np.array(keys)).part(begin, end)
    assert part.tolist() == Ordered(rows, np.array(keys)).all()[begin:end].tolist()


def tree() -> Frame:
    """a (6) over b (2) and c (4), c over d (3); e (1) beside a."""
    name = Column("name", "Name", "text", "")
    value = Column("value", "Value", "ns", "")
    parent = np.array([NONE, 0, 0, 2, NONE])
    return frame([(name, list("abcde")), (value, [6, 2, 4, 3, 1])], np.arange(5), "value", parent=parent)


def names_of(found: object) -> str:
    return "".join(f"{'abcde'[row]}{depth}" for row, depth in zip(found.rows, found.depth, strict=True))  # type: ignore[attr-defined]


def test_a_tree_shows_what_is_open() -> None:
    nothing: frozenset[int] = frozenset()
    assert names_of(select_tree(tree(), Query(), 0, nothing)) == "a0e0"
    assert names_of(select_tree(tree(), Query(), 1, nothing)) == "a0c1b1e0"
    assert names_of(select_tree(tree(), Query(), 1, frozenset({2}))) == "a0c1d2b1e0"
    assert names_of(select_tree(tree(), Query(), 9, frozenset({0}))) == "a0e0"
    assert names_of(select_tree(tree(), Query(descending=False), 9, nothing)) == "e0a0b1c1d2"
    assert select_tree(tree(), Query(), 1, nothing).has_children.tolist() == [True, True, False, False]


def test_what_is_found_in_a_tree_is_shown_with_all_above_it() -> None:
    assert names_of(select_tree(tree(), Query(text="d"), 0, frozenset())) == "a0c1d2"
    assert names_of(select_tree(tree(), Query(bounds=(Bound("value", None, 2),)), 0, frozenset())) == "a0b1e0"


# -- real tables --------------------------------------------------------------------------------------


def test_every_run_of_a_kernel_with_all_that_is_told(tmp_path: Path) -> None:
    first, *_ = sorted(rows_of(tables_of(tmp_path, training()), "kernels", "none"), key=lambda row: row["start_ns"])
    assert first == {
        "name": "hmma_gemm",
        "start_ns": 80_000,
        "dur_ns": 20_000,
        "clipped_ns": 20_000,
        "step": 0,
        "stream": "GPU 0, stream 7",
        "grid": "108, 1, 1",
        "block": "64, 1, 1",
        "blocks_per_sm": 1.0,
        "occupancy": 0.5,
        "registers": 64,
        "shared_bytes": 2048,
        "precision": "fp16",
        "matrix_units": True,
        "kind": "compute",
        "operator": "aten::mm",
        "module": "Net_0 / Linear_0",
        "latency_ns": 15_000,
        "queue_wait_ns": 0,
    }


def test_kernels_of_amd_are_told_in_its_words(tmp_path: Path) -> None:
    trace = training()
    trace.header["deviceProperties"][0]["name"] = "AMD Instinct MI300X"
    for by in ("none", "name"):
        labels = [column.label for column in tables_of(tmp_path / by, trace).frame("kernels", by).columns]
        assert {"Matrix Core", "Blocks/CU"} <= set(labels)
    labels = [column.label for column in tables_of(tmp_path / "operators", trace).frame("operators", "name").columns]
    assert "MC self" in labels


def test_kernels_by_what_they_come_from(tmp_path: Path) -> None:
    tables = tables_of(tmp_path, training())
    totals = {row["operator"]: row["total_ns"] for row in rows_of(tables, "kernels", "operator")}
    assert totals == {"aten::mm": 2 * (20 + 40) * 1000, None: 2 * 10 * 1000}
    by_module = {row["module"]: row["count"] for row in rows_of(tables, "kernels", "module")}
    assert by_module == {"Net_0 / Linear_0": 2, "Net_0 / Linear_1": 2, "Net_0": 2}
    by_stream = {row["stream"]: (row["count"], row["matrix_ratio"]) for row in rows_of(tables, "kernels", "stream")}
    assert by_stream == {"GPU 0, stream 7": (4, 1.0), "GPU 0, stream 9": (2, 0.0)}


def test_operators_and_matrix_units(tmp_path: Path) -> None:
    (row,) = rows_of(tables_of(tmp_path, training()), "operators", "name")
    assert (row["name"], row["matrix_eligible"], row["matrix_ratio"], row["host_share"]) == ("aten::mm", True, 1.0, 1.0)


def test_launches(tmp_path: Path) -> None:
    tables = tables_of(tmp_path, training())
    by_call = {
        row["name"]: (row["count"], row["linked"], row["unlinked"]) for row in rows_of(tables, "launches", "name")
    }
    assert by_call == {"cudaLaunchKernel": (7, 6, 1), "cudaMemcpyAsync": (2, 2, 0)}
    lost = [row for row in rows_of(tables, "launches", "none") if not row["linked"]]
    assert [(row["kernel"], row["device_ns"], row["latency_ns"]) for row in lost] == [(None, None, None)]
    assert {row["kernel"]: row["count"] for row in rows_of(tables, "launches", "kernel")} == {
        "hmma_gemm": 4,
        "relu": 2,
        "Memcpy HtoD (Pinned -> Device)": 2,
        None: 1,
    }


def test_memory_operations_by_size(tmp_path: Path) -> None:
    trace = TraceBuilder().memcpy("HtoD", 0, 10, 1023).memcpy("HtoD", 20, 10, 1024).memset(40, 5)
    rows = rows_of(tables_of(tmp_path, trace), "memory", "size")
    assert {row["size"]: (row["count"], row["bytes"]) for row in rows} == {
        "below 1 KiB": (1, 1023),
        "1 to 16 KiB": (1, 1024),
        None: (1, None),
    }


def test_a_row_and_its_occurrences(tmp_path: Path) -> None:
    tables = tables_of(tmp_path, training())
    found = tables.frame("kernels", "name")
    occurrences = tables.table("kernels").occurrences
    row = rows_index(found, "hmma_gemm")
    one = details(found, row, occurrences)
    assert one.dur_ns.tolist() == [20_000, 20_000, 40_000, 40_000]
    assert (np.diff(one.start_ns) > 0).all()
    assert (one.median, one.slowest) == (1, 2)
    assert one.histogram is not None
    assert sum(one.histogram.count) == 4
    # Any occurrence finds the row that holds it; what is no occurrence finds none.
    assert {row_of(found, int(r), occurrences) for r in one.rows} == {row}
    assert row_of(found, 10**6, occurrences) is None
    # The rows are those of the timeline.
    timeline = tables._timeline
    assert {slice_of(timeline, int(r))["name"] for r in one.rows} == {"hmma_gemm"}


def rows_index(of: Frame, name: str) -> int:
    return of.data.column("name").to_pylist().index(name)


def test_the_occurrences_of_a_group_as_rows(tmp_path: Path) -> None:
    tables = tables_of(tmp_path, training())
    by_name = tables.frame("kernels", "name")
    id = int(by_name.id[rows_index(by_name, "relu")])
    order = tables.order("kernels", "none", Query(), ("name", id))
    single = tables.frame("kernels", "none")
    assert single.data.column("name").take(order.all()).to_pylist() == ["relu", "relu"]
    assert tables.order("kernels", "none", Query(), ("name", id)) is order  # further pages need no second search
    with pytest.raises(BadQuery, match="no such group"):
        tables.order("kernels", "none", Query(), ("name", 10**6))


def test_annotations_of_the_always_on_stream_come_before_those_of_windows(tmp_path: Path) -> None:
    from stepscope.runs import open_run
    from stepscope.schema import Kind

    run = RecordedRun(tmp_path / "run", started_us=0).step(0, 0, 100)
    run.span(Kind.ANNOTATION, "augment", 10, 5, 0).span(Kind.ANNOTATION, "augment", 30, 7, 0)
    run.window(TraceBuilder().annotation("augment", 10, 5).annotation("log", 50, 3)).end()
    timeline = Timeline(open_run(run.path).workers[0])
    tables = Tables(timeline)
    rows = {row["name"]: (row["count"], row["total_ns"]) for row in rows_of(tables, "annotations", "name")}
    assert rows == {"augment": (2, 12_000), "log": (1, 3000)}
    found = tables.table("annotations").occurrences
    assert [slice_of(timeline, int(row))["name"] for row in found.rows] == ["augment", "augment", "log"]
    assert [bool(row >= LIVE_BASE) for row in found.rows] == [True, True, False]
    assert [row["step"] for row in rows_of(tables, "annotations", "none")] == [0, 0, 0]


@pytest.mark.parametrize(
    ("trace", "why"),
    [
        (None, dict.fromkeys(("kernels", "operators", "modules", "memory", "launches"), "no_window")),
        (TraceBuilder().op("aten::mm", 0, 10), {"kernels": "no_device", "operators": None, "launches": "no_launch"}),
        (TraceBuilder().kernel("k", 0, 10), {"kernels": None, "operators": "no_operator", "modules": "no_module"}),
    ],
)
def test_why_a_table_is_empty(tmp_path: Path, trace: TraceBuilder | None, why: dict[str, str | None]) -> None:
    tables = tables_of(tmp_path, trace)
    assert {name: tables.table(name).why_empty() for name in why} == why
    for name in why:
        for by in (*tables.table(name).groupings, "none"):
            assert (len(tables.frame(name, by)) == 0) == (why[name] is not None)


# -- launches over time -------------------------------------------------------------------------------


def test_the_depth_of_a_queue() -> None:
    """Launched at 10, 20 and 30; started at 15, 40 and 50: one waits from 10 to 15, from 20 two, from 40 one."""
    trace = TraceBuilder()
    for i, (launched, start, dur) in enumerate(((8, 15, 20), (18, 40, 10), (28, 50, 10)), 1):
        trace.launch(launched, 2, i).kernel("k", start, dur, correlation=i)
    events = trace.window().events
    (depth,) = queue_depths(events, link(events))
    us = ((depth.time_ns - T0_NS) // 1000).tolist()
    assert list(zip(us, depth.depth.tolist(), strict=True)) == [(10, 1), (15, 0), (20, 1), (30, 2), (40, 1), (50, 0)]
    assert depth.max == 2
    assert depth.mean == (5 * 1 + 10 * 1 + 10 * 2 + 10 * 1) / 40
    assert depth.empty_ratio == 5 / 40


def test_few_points_of_many_launches_keep_the_outlier(tmp_path: Path) -> None:
    trace = TraceBuilder()
    for i in range(1, 401):
        late = 500 if i == 237 else 3
        trace.launch(1000 * i, 2, i).kernel("k", 1000 * i + 2 + late, 1, correlation=i)
    source = tables_of(tmp_path, trace).source
    every, few = launch_points(source, 1000), launch_points(source, 50)
    assert (every["count"], len(every["row"])) == (400, 400)
    assert few["count"] == 400
    assert len(few["row"]) <= 50
    assert max(few["latency"]) == 500_000
    assert few["t"] == sorted(few["t"])
    (queue,), count = queue_points(source, 60)
    assert (count, queue["max"], queue["count"]) == (1, 1, 800)
    assert len(queue["t"]) <= 60
