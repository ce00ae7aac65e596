"""Regions that a script names."""

from __future__ import annotations

import itertools
import threading

import pytest

import stepscope.recorder as recorder_module
from stepscope import annotate, annotation_begin, annotation_end
from stepscope.annotate import PythonRegion
from stepscope.hot import extension
from stepscope.recorder import Recorder
from stepscope.runs import open_run
from stepscope.schema import Kind


@pytest.fixture(params=[annotate] if extension is None else [annotate, PythonRegion], ids=lambda made: made.__name__)
def region(request):
    """What ``annotate`` is here, and what it is where the extension was not built."""
    return request.param


def regions(recorder):
    """(name, start, end, step, lane), in order of time."""
    recorder.stop()
    (worker,) = open_run(recorder.run).workers
    events = worker.live()
    found = [
        (events.text(i), int(events.ts_ns[i]), int(events.end_ns[i]), int(events.step[i]), int(events.lane[i]))
        for i in events.of_kind(Kind.ANNOTATION).nonzero()[0].tolist()
    ]
    return sorted(found, key=lambda region: (region[1], -region[2]))


def test_nested_regions(recorder, region):
    recorder.step = 4
    with region("outer"):
        with region("inner"):
            pass
        recorder.step = 5
    outer, inner = regions(recorder)
    assert (outer[0], inner[0]) == ("outer", "inner")
    assert outer[1] <= inner[1] <= inner[2] <= outer[2]
    assert (outer[3], inner[3]) == (5, 4)  # the step in which a region ends


def test_a_decorated_function_keeps_its_name_and_result(recorder):
    @annotate("work")
    def double(x):
        """Doc."""
        return 2 * x

    assert [double(i) for i in range(3)] == [0, 2, 4]
    assert (double.__name__, double.__doc__) == ("double", "Doc.")
    assert [region[0] for region in regions(recorder)] == ["work"] * 3


def test_a_decorated_function_may_call_itself(recorder):
    @annotate("down")
    def down(n):
        return n and down(n - 1)

    down(2)
    found = regions(recorder)
    assert len(found) == 3
    assert all(outer[2] >= inner[2] for outer, inner in itertools.pairwise(found))


def test_exceptions_pass_and_close_the_region(recorder, region):
    with pytest.raises(ValueError, match="mine"), region("fails"):
        raise ValueError("mine")
    assert [region[0] for region in regions(recorder)] == ["fails"]


def test_one_object_in_several_threads_at_once(recorder, region):
    shared = region("shared")
    inside = threading.Barrier(3)

    def use():
        with shared:
            inside.wait()

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    use()
    for thread in threads:
        thread.join()
    found = regions(recorder)
    assert len(found) == 3
    assert len({region[4] for region in found}) == 3


def test_a_generator_that_another_thread_resumes_keeps_its_region(recorder, region):
    def batches():
        with region("batch"):
            yield 1

    generator = batches()
    first = threading.Thread(target=next, args=(generator,))
    first.start()
    first.join()
    list(generator)  # here, in the main thread
    assert [name for name, *_ in regions(recorder)] == ["batch"]


def test_begin_and_end_may_cross_functions_and_threads(recorder):
    handle = annotation_begin("crosses")
    thread = threading.Thread(target=annotation_end, args=(handle,))
    thread.start()
    thread.join()
    assert [region[0] for region in regions(recorder)] == ["crosses"]


def test_while_nothing_records_nothing_happens():
    assert recorder_module.active is None
    with annotate("nothing") as region:
        assert region.name == "nothing"
    annotation_end(annotation_begin("nothing"))
    assert annotate("nothing")(lambda x: x)(3) == 3


def test_a_region_open_when_the_recording_begins_or_ends(tmp_path, region):
    before = region("before")
    before.__enter__()
    recorder = Recorder(tmp_path / "run", framework="pytorch")
    recorder.start()
    before.__exit__(None, None, None)
    after = region("after")
    after.__enter__()
    recorder.stop()
    after.__exit__(None, None, None)
    assert regions(recorder) == []


class Scope:
    opened: list[str] = []
    closed: list[str] = []

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        Scope.opened.append(self.name)

    def __exit__(self, *exc):
        Scope.closed.append(self.name)


def test_regions_are_mirrored_while_a_deep_window_is_open(recorder, monkeypatch, region):
    monkeypatch.setattr(recorder_module, "mirror", Scope)
    monkeypatch.setattr(Scope, "opened", [])
    monkeypatch.setattr(Scope, "closed", [])
    with region("seen"):
        handle = annotation_begin("seen too")
        annotation_end(handle)
    monkeypatch.setattr(recorder_module, "mirror", None)
    with region("unseen"):
        pass
    assert Scope.opened == ["seen", "seen too"]
    assert Scope.closed == ["seen too", "seen"]
    assert [region[0] for region in regions(recorder)] == ["seen", "seen too", "unseen"]


def test_a_mirror_that_fails_costs_nothing_but_itself(recorder, monkeypatch, region):
    def refuse(name):
        raise RuntimeError("the window is gone")

    monkeypatch.setattr(recorder_module, "mirror", refuse)
    with region("kept"):
        pass
    assert [region[0] for region in regions(recorder)] == ["kept"]


def test_an_interrupt_in_a_mirror_is_not_swallowed(recorder, monkeypatch, region):
    class Interrupted(Scope):
        def __exit__(self, *exc):
            raise KeyboardInterrupt

    monkeypatch.setattr(recorder_module, "mirror", Interrupted)
    with pytest.raises(KeyboardInterrupt), region("left"):
        pass


def test_regions_beyond_what_memory_may_hold_are_counted(recorder, region, monkeypatch):
    monkeypatch.setattr(recorder_module, "MAX_PENDING", 2)
    if recorder.regions is not None:
        recorder.regions.limit = 2
    waits, go_on = threading.Event(), threading.Event()
    recorder.each_round.append(lambda: waits.set() or go_on.wait(180))
    assert waits.wait(180)
    for _ in range(5):
        with region("many"):
            pass
    go_on.set()
    assert len(regions(recorder)) == 2
    assert [(note.code, note.count) for note in recorder.notes.list()] == [("dropped_spans", 3)]
