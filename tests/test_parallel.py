"""Work on files in several processes: the same results, in the same order, whatever happens to a process."""

import json
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from stepscope import parallel
from stepscope.cli import main
from tests.builders import TraceBuilder


def test_small_files_and_single_ones_need_no_process(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.json" for i in range(3)]
    for path in paths:
        path.write_bytes(b"{}")
    with parallel.file_executor(paths) as executor:
        assert executor is None


def test_memory_bounds_the_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_cores", lambda: 8)
    paths = [tmp_path / f"{i}.json.gz" for i in range(4)]
    for path in paths:
        path.write_bytes(b"")
        os.truncate(path, 1 << 40)  # sparse: a trace of a terabyte fits nowhere twice
    assert parallel.process_count(paths) == 1


def die_once(item: tuple[int, Path]) -> int:
    number, marker = item
    if number == 1 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number * 10


def test_what_a_killed_process_left_is_done_here(tmp_path: Path) -> None:
    items = [(number, tmp_path / "died") for number in range(4)]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        assert list(parallel.ordered(executor, die_once, items)) == [0, 10, 20, 30]


@pytest.mark.skipif(parallel._cores() < 2, reason="one core")
def test_several_ranks_are_read_the_same_by_several_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    for rank in range(3):
        trace = TraceBuilder(rank=rank).step(1, 0, 100).kernel("k", 10, 5 + rank, correlation=1)
        trace.write(folder / f"rank{rank}.pt.trace.json.gz", gzip=True)
    (folder / "rank3.pt.trace.json").write_text("no trace")
    outputs = []
    for worth in (1 << 40, 0):
        monkeypatch.setattr(parallel, "_WORTH_BYTES", worth)
        assert main(["summary", "--format", "json", str(folder)]) == 0
        assert main(["import", str(folder), "--out", str(tmp_path / str(worth))]) == 1
        printed = capsys.readouterr()
        outputs.append((printed.out.replace(str(tmp_path / str(worth)), ""), printed.err))
    assert outputs[0] == outputs[1]
    assert [w["rank"] for w in json.loads(outputs[0][0].splitlines()[0])["workers"]] == [0, 1, 2, None]
    windows = [
        sorted(p.relative_to(tmp_path / str(worth)) for p in (tmp_path / str(worth)).rglob("windows/000001/*"))
        for worth in (1 << 40, 0)
    ]
    assert windows[0] == windows[1]
    assert len(windows[0]) == 9
