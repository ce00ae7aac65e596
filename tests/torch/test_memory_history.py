"""Snapshots of the CUDA allocator, which is played here: the calls are torch's, what they write is not."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
import torch

from tests.torch.training import make_model, profiler, train


@pytest.fixture
def allocator(monkeypatch):
    calls = []
    monkeypatch.setattr("stepscope_torch.environment.accelerators", frozenset)
    monkeypatch.setattr("stepscope_torch.environment.devices", list)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)  # no events
    monkeypatch.setattr(torch.cuda.memory, "_dump_snapshot", lambda path: Path(path).write_text("all"))
    monkeypatch.setattr(torch.cuda.memory, "_record_memory_history", lambda **options: calls.append(options))
    monkeypatch.setattr(torch._C, "_cuda_isHistoryEnabled", lambda: False, raising=False)
    return calls


def test_snapshots_are_numbered_and_the_history_ends_with_the_recording(tmp_path, allocator):
    with profiler(tmp_path, make_model()) as prof:
        paths = [prof.memory_snapshot(), prof.memory_snapshot()]
        assert [options["max_entries"] for options in allocator] == [100_000]
        folder = prof.folder
    assert paths == [folder / "memory-000001.pickle", folder / "memory-000002.pickle"]
    assert all(path.read_text() == "all" for path in paths)
    assert not list(folder.glob(".*"))
    assert allocator[1:] == [{"enabled": None}]


def test_a_history_of_the_script_is_left_alone(tmp_path, allocator, monkeypatch):
    monkeypatch.setattr(torch._C, "_cuda_isHistoryEnabled", lambda: True, raising=False)
    with profiler(tmp_path, make_model()) as prof:
        assert prof.memory_snapshot() is not None
    assert allocator == []


def test_without_cuda_or_without_a_recording_there_is_none(tmp_path, caplog):
    model = make_model()
    with caplog.at_level(logging.WARNING, "stepscope"), profiler(tmp_path, model) as prof:
        train(model, 2)
        assert prof.memory_snapshot() is None
    assert prof.memory_snapshot() is None
    assert "does not use CUDA" in caplog.text
    assert "does not record" in caplog.text
