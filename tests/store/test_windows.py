"""Deep windows on disk: whole or absent, and never overwritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stepscope.errors import StepscopeError
from stepscope.schema import COLUMN_DTYPES, Window
from stepscope.store import read_window, read_window_meta, write_window
from tests.builders import TraceBuilder


def small_window() -> Window:
    builder = TraceBuilder(rank=3, world_size=8).step(5, 0, 100).op("aten::mm", 10, 50, external_id=7)
    builder.launch(12, 4, correlation=101, external_id=7).kernel("sgemm", 20, 60, correlation=101, grid=[4, 1, 1])
    return builder.window()


def test_a_window_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    window = small_window()
    write_window(tmp_path / "000001", window)
    back = read_window(tmp_path / "000001")
    assert back.meta() == window.meta()
    for column in COLUMN_DTYPES:
        if column != "name":  # the dictionary may be in another order
            assert getattr(back.events, column).tolist() == getattr(window.events, column).tolist(), column
    rows = range(len(window.events))
    assert [back.events.text(i) for i in rows] == [window.events.text(i) for i in rows]
    assert [back.events.args_of(i) for i in rows] == [window.events.args_of(i) for i in rows]


def test_what_a_window_says_of_itself_is_read_without_its_events(tmp_path: Path) -> None:
    write_window(tmp_path / "000001", small_window())
    (tmp_path / "000001" / "events.parquet").unlink()
    about = read_window_meta(tmp_path / "000001")
    assert (about.rank, about.world_size, len(about.events)) == (3, 8, 0)


def test_a_window_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    write_window(tmp_path / "000001", small_window())
    before = {p.name: p.read_bytes() for p in (tmp_path / "000001").iterdir()}
    with pytest.raises(StepscopeError, match="000001: exists already"):
        write_window(tmp_path / "000001", small_window())
    assert {p.name: p.read_bytes() for p in (tmp_path / "000001").iterdir()} == before


def test_a_window_that_cannot_be_finished_leaves_nothing(tmp_path: Path) -> None:
    window = small_window()
    window.header = {"not JSON": object()}
    with pytest.raises(TypeError):
        write_window(tmp_path / "000001", window)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StepscopeError, match="cannot be written"):
        write_window(tmp_path / "file" / "000001", small_window())


@pytest.mark.parametrize("name", ["events.parquet", "args.parquet", "window.json"])
@pytest.mark.parametrize("content", [None, b"", b"PAR1 and then nothing"])
def test_a_damaged_window_is_one_sentence(tmp_path: Path, name: str, content: bytes | None) -> None:
    write_window(tmp_path / "000001", small_window())
    path = tmp_path / "000001" / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StepscopeError, match="000001"):
        read_window(tmp_path / "000001")


def test_files_of_two_windows_do_not_pass_for_one(tmp_path: Path) -> None:
    write_window(tmp_path / "000001", small_window())
    meta = json.loads((tmp_path / "000001" / "window.json").read_text())
    meta["lanes"] = meta["lanes"][:1]
    (tmp_path / "000001" / "window.json").write_text(json.dumps(meta))
    with pytest.raises(StepscopeError, match="column lane points beyond its 1 values"):
        read_window(tmp_path / "000001")
