"""The run folder: no two writers ever meet."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path

import pytest

from stepscope.errors import StepscopeError
from stepscope.store import RunFolder
from stepscope.store.layout import read_json, write_json


def create(run: str, barrier, names) -> None:
    barrier.wait()
    for _ in range(5):
        names.put(RunFolder(run).create_worker(0, "node one", 42).id)


def test_eight_processes_with_one_name_get_folders_of_their_own(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    barrier, names = context.Barrier(8), context.Queue()
    processes = [context.Process(target=create, args=(str(tmp_path), barrier, names)) for _ in range(8)]
    for process in processes:
        process.start()
    made = sorted(names.get(timeout=180) for _ in range(40))
    for process in processes:
        process.join(180)
    assert made == sorted(["0-node_one-42"] + [f"0-node_one-42-{i}" for i in range(2, 41)])
    root = tmp_path / "plugins" / "stepscope"
    assert sorted(p.name for p in (root / "workers").iterdir()) == made
    assert json.loads((root / "run.json").read_text())["schema"] == 1
    assert sorted(p.name for p in root.iterdir()) == ["run.json", "workers"]  # nothing left beside


def test_the_first_worker_writes_run_json_and_no_other(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "exp")
    assert not run.exists()
    run.create_worker(0, "a", 1)
    written = (run.root / "run.json").read_text()
    run.create_worker(1, "a", 2)
    assert (run.root / "run.json").read_text() == written
    assert run.exists()


def test_a_worker_counts_once_it_has_told_about_itself(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    worker = run.create_worker(None, "host/with\\odd:chars", 1)
    assert worker.id == "x-host_with_odd_chars-1"
    assert run.workers() == []
    worker.write_meta({"rank": None})
    assert [w.id for w in run.workers()] == [worker.id]
    assert run.workers()[0].read_meta() == {"rank": None}


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StepscopeError, match="file/exp: cannot be written"):
        RunFolder(tmp_path / "file" / "exp").create_worker(0, "a", 1)


def test_windows_are_numbered_on(tmp_path: Path) -> None:
    worker = RunFolder(tmp_path).create_worker(0, "a", 1)
    assert worker.windows() == []
    assert worker.new_window().name == "000001"
    for name in ("000001", "000007", ".000009.1234.tmp"):
        (worker.path / "windows" / name).mkdir(parents=True)
    assert [p.name for p in worker.windows()] == ["000001", "000007"]
    assert worker.new_window().name == "000008"


def test_json_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "worker.json"
    write_json(path, {"a": 1})
    inode = os.stat(path).st_ino
    write_json(path, {"a": 2})
    assert read_json(path) == {"a": 2}
    assert os.stat(path).st_ino != inode
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"a": float("nan")})
    assert read_json(path) == {"a": 2}


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", '"text"'])
def test_json_that_is_no_object_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "worker.json").write_text(text)
    with pytest.raises(StepscopeError, match=r"worker\.json"):
        read_json(tmp_path / "worker.json")
