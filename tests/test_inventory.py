"""What there is of a worker: files, windows, clock; and that every definition can be listed."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from stepscope.analysis.capture import merge
from stepscope.inventory import always_on_of, clock_of, files_of, windows_of
from stepscope.schema import Events
from stepscope.store import RunFolder
from stepscope.workers import FileWorker, RecordedWorker
from tests.analysis.table import Table
from tests.builders import TraceBuilder


def test_files_of_a_recording_are_told_by_their_place_in_its_folder(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run").create_worker(0, "host", 1)
    folder.write_meta({"rank": 0})
    (folder.path / "windows" / "000001").mkdir(parents=True)
    (folder.path / "windows" / "000001" / "events.parquet").write_bytes(b"1234")
    files, count = files_of(RecordedWorker(folder))
    assert [file.name for file in files] == ["windows/000001/events.parquet", "worker.json"]
    assert (files[0].bytes, count) == (4, 2)


def test_an_imported_trace_is_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.pt.trace.json"
    TraceBuilder().step(0, 0, 10).write(path)
    files, count = files_of(FileWorker(path, "a"))
    assert ([file.name for file in files], files[0].bytes, count) == (["a.pt.trace.json"], path.stat().st_size, 1)


def test_windows_tell_the_whole_steps_in_them() -> None:
    first = Table().step(3, 100, 50).step(4, 150, 50)
    steps = tuple(np.array(column) for column in ([3, 4, 5], [100, 150, 190], [150, 200, 260]))
    windows = windows_of(merge([first.events(), Table().op("late", 250, 50).events()]), steps)
    assert [(w.start_ns, w.end_ns, w.events, w.steps, w.first_step, w.last_step) for w in windows] == [
        (100, 200, 2, 2, 3, 4),
        (250, 300, 1, 0, None, None),
    ]


def test_without_a_stream_there_is_nothing_always_on() -> None:
    assert always_on_of(Events.empty(), (np.empty(0), np.empty(0), np.empty(0))) is None


def test_the_clock_tells_its_error_and_by_how_much_it_was_set() -> None:
    anchors = [{"perf_ns": p, "unix_ns": u, "width_ns": w} for p, u, w in ((0, 100, 5), (50, 150, 9), (80, 1180, 2))]
    worker = SimpleNamespace(meta={"anchors": [*anchors, {"perf_ns": "odd"}]})
    assert clock_of(worker) == {"anchors": 3, "first_ns": 100, "error_ns": 9, "jumps_ns": [0, 1000]}
    assert clock_of(SimpleNamespace(meta=None)) is None


def test_every_definition_is_plain_text() -> None:
    from stepscope_tensorboard.data_routes import definitions_impl

    told = definitions_impl()
    assert len(json.dumps(told)) < 200_000
    assert all(section["metrics"] and "``" not in json.dumps(section) for section in told["sections"])
