"""What a group shows is what the summary prints: for any trace, and the same whichever grouping."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.analysis.groups import Groups
from stepscope.analysis.percentiles import nearest_rank
from stepscope.schema import Window
from stepscope.summary import summarize_worker
from stepscope.tables import TABLES, Tables
from stepscope.timeline import Timeline
from tests.analysis.test_properties import tables as random_events
from tests.tables.build import rows_of, tables_of, training, worker_of


def same(rows: list[dict[str, Any]], listed: list[dict[str, Any]], names: dict[str, str], *by: str) -> None:
    """Rows of a table equal entries of the summary in what both have.

    Args:
        names: fields of the summary and the columns that show them.
        by: what tells rows apart.
    """
    assert len(rows) == len(listed)
    shown = {tuple(row[column] for column in by): row for row in rows}
    assert len(shown) == len(rows)
    inverse = {column: field for field, column in names.items()}
    for entry in listed:
        row = shown[tuple(entry[inverse.get(column, column)] for column in by)]
        common = [f for f in entry if names.get(f, f) in row]
        assert {f: row[names.get(f, f)] for f in common} == {f: entry[f] for f in common}
        assert len(common) >= 3


@settings(max_examples=12, deadline=None)  # each takes 0.2 s: a run, its summary and all tables
@given(random_events())
def test_groups_equal_the_summary(table: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        worker = worker_of(Path(folder), Window(table.events(), framework="pytorch"))
        summary = summarize_worker(worker)
        tables = Tables(Timeline(worker))
        same(rows_of(tables, "kernels", "name"), summary["kernels"], {}, "name", "kind")
        same(rows_of(tables, "operators", "name"), summary["operators"], {}, "name")
        kinds = ("operation", "direction", "source", "target")
        same(rows_of(tables, "memory", "kind"), summary["memory_operations"], {}, *kinds)
        same(rows_of(tables, "launches", "name"), summary["launches"]["by_call"], {}, "name")
        same(rows_of(tables, "annotations", "name"), summary["annotations"], {}, "name")
        talk = summary["communication"] or {"collectives": []}
        same(rows_of(tables, "collectives", "group"), talk["collectives"], {}, "name", "group", "group_size", "device")
        for name, kind in TABLES.items():
            for by in kind.groupings:
                grouped, single = tables.frame(name, by), tables.frame(name, "none")
                assert grouped.parent is not None or sum(grouped.data.column("count").to_pylist()) == len(single)
                assert len(tables.table(name).occurrences) == len(single)
                for column in ("total_ns", "time_ns", "host_self_ns"):
                    if grouped.column(column) is not None and grouped.parent is None:
                        parts = grouped.data.column(column).to_pylist()
                        whole = {"total_ns": "dur_ns", "time_ns": "dur_ns", "host_self_ns": "host_self_ns"}[column]
                        assert sum(parts) == sum(single.data.column(whole).to_pylist())


def test_a_training_equals_its_summary(tmp_path: Path) -> None:
    """With what random events lack: configurations, shapes, stacks, modules."""
    worker = worker_of(tmp_path, training())
    summary = summarize_worker(worker)
    tables = Tables(Timeline(worker))
    configs = [
        {**entry, **{side: ", ".join(map(str, entry[side])) if entry[side] else None for side in ("grid", "block")}}
        for entry in summary["kernels_by_launch_config"]
    ]
    same(rows_of(tables, "kernels", "config"), configs, {}, "name", "grid", "block")
    shapes = [
        {**entry, "input_shapes": str(entry["input_shapes"]), "input_types": str(entry["input_types"]).replace("'", "")}
        for entry in summary["operators_by_shape"]
    ]
    same(rows_of(tables, "operators", "shapes"), shapes, {}, "name", "input_shapes", "input_types")
    stacks = [{**entry, "stack": " ← ".join(reversed(entry["stack"]))} for entry in summary["operator_stacks"]]
    same(rows_of(tables, "operators", "stack"), stacks, {}, "name", "stack")
    modules = [{**entry, "path": " / ".join(entry["path"]) or None} for entry in summary["modules"]]
    for entry in modules:
        if entry["path"] is None:  # nothing is inside it: the table has a dash
            entry.update({field: None for field in entry if "_total_" in field})
    same(rows_of(tables, "modules", "none"), modules, {}, "path")


def test_shares_make_up_the_whole(tmp_path: Path) -> None:
    tables = tables_of(tmp_path, training())
    for name, column in (("kernels", "share"), ("memory", "share"), ("launches", "share"), ("operators", "host_share")):
        for by in tables.table(name).groupings:
            assert abs(sum(row[column] for row in rows_of(tables, name, by)) - 1) < 1e-9
    top = [row["share"] for row in rows_of(tables, "modules", "none") if row["path"] in ("Net_0", None)]
    assert abs(sum(top) - 1) < 1e-9


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_percentiles_of_groups_are_those_of_their_values(data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 50)), min_size=1, max_size=30))
    key, value = np.array(pairs).T
    groups = Groups(key)
    found = groups.nearest_rank(value, 0, 50, 99, 100)
    for i, k in enumerate(groups.keys.tolist()):
        assert [int(column[i]) for column in found] == nearest_rank(value[key == k], 0, 50, 99, 100)
        assert (groups.of == i).tolist() == (key == k).tolist()
