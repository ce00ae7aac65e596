"""Damaged files: no traceback, no failed analysis, and no intact event is lost without a word.

300 Kineto files, plain and compressed, and 100 XPlane files by default; with STEPSCOPE_MUTATIONS=2000 (or more)
that many, and a third of it.
"""

import gzip
import json
import os
import random
from collections import Counter
from functools import cache

import pytest

from stepscope.analysis.trust import LEFT_OUT
from stepscope.errors import StepscopeError
from stepscope.importers import import_file
from stepscope.runs import open_run
from stepscope.summary import summarize
from tests.builders import TraceBuilder
from tests.generated import Training
from tests.importers.test_xplane import cpu_plane, environment, nvidia_planes
from tests.importers.xspace import xspace
from tests.mutations import KINDS, Mutant, damage_bytes, keys, mutate

COUNT = int(os.environ.get("STEPSCOPE_MUTATIONS", "300"))
CHUNKS = 10
#: Codes that tell of lost events without counting them.
UNCOUNTED = {"truncated", "concatenated"}
TRACES = 5


@cache
def trace(number: int) -> TraceBuilder:
    return Training(number, steps=2, layers=2, rank=number).trace


def check(mutant: Mutant, path) -> None:
    """The file is refused in one sentence, or its intact events are there or accounted for, and numbers add up."""
    path.write_bytes(gzip.compress(mutant.data, 1) if path.suffix == ".gz" else mutant.data)
    try:
        window = import_file(path)
    except StepscopeError:
        return
    events = window.events
    names = [events.names[n] for n in events.name.tolist()]
    start = events.ts_ns.tolist() if mutant.keeps_clock else [0] * len(events)
    found = Counter(zip(names, start, events.dur_ns.tolist(), strict=True))
    wanted = Counter((name, ts if mutant.keeps_clock else 0, dur) for name, ts, dur in mutant.intact)
    lost = sum((wanted - found).values())
    notes = {n.code: n.count for n in window.notes}
    accounted = sum(n for code, n in notes.items() if code in LEFT_OUT)
    assert lost <= accounted or UNCOUNTED & set(notes), f"{lost} intact events are lost silently; notes: {notes}"
    check_summary(path)


def check_summary(path) -> None:
    """Every analysis works on the file, and parts sum to wholes."""
    (worker,) = summarize(open_run(path))["workers"]
    json.dumps(worker, allow_nan=False)
    failed = [n["detail"] for n in worker["quality"] if n["code"] == "analysis_failed"]
    assert not failed
    for step in worker["steps"]:
        assert step["activity_ns"] is None or sum(step["activity_ns"].values()) == step["duration_ns"]
        assert step["phase_ns"] is None or sum(v or 0 for v in step["phase_ns"].values()) == step["host_ns"]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_damaged_files(chunk, tmp_path):
    for seed in range(chunk, COUNT, CHUNKS):
        mutant = mutate(trace(seed % TRACES), seed)
        name = f"{seed}.pt.trace.json" + (".gz" if seed % 7 == 0 else "")
        try:
            check(mutant, tmp_path / name)
        except Exception as error:
            raise AssertionError(f"seed {seed}, {mutant.what}: {error}") from error


def test_damaged_xplane_files(tmp_path):
    """The format has no marks between its parts, so what damage touches cannot be told from outside: any loss is
    noted."""
    data = xspace(cpu_plane(), *nvidia_planes(), environment(), hostname="node")
    whole = len(import_file(written(tmp_path / "whole.xplane.pb", data)).events)
    for seed in range(COUNT // 3):
        damaged, what = damage_bytes(data, seed)
        path = written(tmp_path / f"{seed}.xplane.pb", damaged)
        try:
            window = import_file(path)
        except StepscopeError:
            continue
        codes = {n.code for n in window.notes} - {"rank_unknown", "dropped_instants"}
        assert len(window.events) >= whole or codes, f"seed {seed}, {what}: events are lost silently"
        check_summary(path)


def test_damaged_compressed_files(tmp_path):
    data = gzip.compress(trace(0).json(), 6)
    whole = len(trace(0).events)
    for seed in range(COUNT // 6):
        damaged, what = damage_bytes(data, seed)
        path = written(tmp_path / f"{seed}.json.gz", damaged)
        try:
            window = import_file(path)
        except StepscopeError:
            continue
        assert len(window.events) == whole or window.notes, f"seed {seed}, {what}: events are lost silently"
        check_summary(path)


def written(path, data: bytes):
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_damage_leaves_events_intact(kind):
    """The damage is done, and to part of the file only: else the test above would ask for nothing."""
    mutants = [kind(trace(0), random.Random(seed)) for seed in range(20)]
    assert all(m.data != trace(0).json() for m in mutants)
    assert sum(len(m.intact) for m in mutants) > 5 * len(keys(trace(0)))


def test_an_undamaged_trace_is_complete(tmp_path):
    for number in range(TRACES):
        path = trace(number).write(tmp_path / f"{number}.pt.trace.json")
        assert import_file(path).notes == []
        check(Mutant(path.read_bytes(), [k for k in keys(trace(number)) if k], "nothing"), path)
