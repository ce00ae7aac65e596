"""Deep windows, taken with torch's own profiler and converted by the real converter."""

from __future__ import annotations

import gc
import gzip
import json
import signal
import threading

import pytest
import torch

from stepscope import annotate
from stepscope.runs import open_run
from stepscope.schema import Kind
from stepscope.summary import summarize
from stepscope_torch import Schedule
from tests.torch.training import make_loader, make_model, make_optimizer, profiler, read, train, train_step, validate


def windows_of(run):
    (worker,) = open_run(run).workers
    return list(worker.windows())


def steps_of(window):
    return window.events.step[window.events.of_kind(Kind.STEP)].tolist()


def names_of(window, kind):
    rows = window.events.of_kind(kind)
    return [window.events.names[i] for i in window.events.name[rows].tolist()]


def test_the_default_window_holds_steps_10_to_12(tmp_path):
    model = make_model()
    with profiler(tmp_path, model, schedule=None):
        train(model, 16)
    recording = read(tmp_path)
    assert recording.complete_steps() == list(range(16))
    (window,) = windows_of(tmp_path)
    assert sorted(steps_of(window)) == [10, 11, 12]
    assert "aten::addmm" in names_of(window, Kind.OP)
    assert window.rank == 0
    assert window.pid == recording.meta["pid"]
    assert recording.notes == []


def test_the_source_is_kept_with_markers_that_other_tools_read(tmp_path):
    model = make_model()
    with profiler(tmp_path, model, schedule=None):
        train(model, 16)
    folder = open_run(tmp_path).workers[0].folder
    (window,) = folder.windows()
    with gzip.open(window / "trace.json.gz") as file:
        names = [event.get("name") for event in json.load(file)["traceEvents"]]
    assert [f"ProfilerStep#{i}" in names for i in (9, 10, 11, 12, 13)] == [False, True, True, True, False]
    assert not list(folder.path.glob(".*.json"))


def test_the_stalls_lie_between_steps(tmp_path):
    model = make_model()
    with profiler(tmp_path, model, schedule=None):
        train(model, 16)
    recording = read(tmp_path)
    stalls = recording.rows(Kind.OVERHEAD, "profiler_stall")
    assert len(stalls) == 4  # the probe's and the window's, start and stop
    steps = recording.rows(Kind.STEP)
    for _, start, end, step in stalls:
        assert step == -1
        assert not any(start < step_end and end > step_start for _, step_start, step_end, _ in steps)
    assert sum(end - start for _, start, end, _ in stalls) == recording.meta["overhead"]["stall_ns"]


def test_the_summary_joins_the_window_with_the_steps(tmp_path):
    model = make_model()
    with profiler(tmp_path, model, schedule=None):
        train(model, 16)
    (worker,) = summarize(open_run(tmp_path))["workers"]
    assert [step["id"] for step in worker["steps"]] == list(range(16))
    deep = [step["id"] for step in worker["steps"] if step["activity_ns"] is not None]
    assert deep == [10, 11, 12]
    for step in worker["steps"][10:13]:
        assert sum(step["activity_ns"].values()) == step["duration_ns"]


def test_annotations_show_in_the_window_as_annotations(tmp_path):
    model = make_model()
    optimizer = make_optimizer(model)
    with profiler(tmp_path, model, schedule=None):
        for x, y in make_loader(16):
            with annotate("augment"):
                x = x + 1
            train_step(model, optimizer, x, y)
    (window,) = windows_of(tmp_path)
    assert names_of(window, Kind.ANNOTATION).count("augment") == 3
    assert "augment" not in names_of(window, Kind.OP)


def test_several_windows(tmp_path):
    model = make_model()
    with profiler(tmp_path, model, schedule=Schedule(skip_first=3, active=2, windows=3, every=5)):
        train(model, 20)
    assert [sorted(steps_of(w)) for w in windows_of(tmp_path)] == [[3, 4], [8, 9], [13, 14]]


def test_a_window_from_the_very_first_step(tmp_path):
    model = make_model()
    with profiler(tmp_path, model, schedule=Schedule(skip_first=0, active=2)):
        train(model, 5)
    (window,) = windows_of(tmp_path)
    assert sorted(steps_of(window)) == [0, 1]


def test_a_loop_without_a_loader(tmp_path):
    model = make_model()
    optimizer = make_optimizer(model)
    x = torch.ones(4, 8)
    with profiler(tmp_path, model, schedule=Schedule(skip_first=3, active=2)):
        for _ in range(8):
            train_step(model, optimizer, x, x.sum(1, keepdim=True))
        assert vars(model)["_compiled_call_impl"].original is None  # what the window put there is gone, too
    (window,) = windows_of(tmp_path)
    assert sorted(steps_of(window)) == [3, 4]
    # The call of the model begins the step, and is no caller of it: steps lie above all else.
    events = window.events
    assert set(events.depth[events.of_kind(Kind.STEP)].tolist()) == {0}
    (call,) = (i for i in range(len(events)) if events.text(i) == "nn.Module: Net")  # the first began before the window
    (step,) = (i for i in range(len(events)) if events.text(i) == "ProfilerStep#4")
    assert events.ts_ns[step] <= events.ts_ns[call] < events.end_ns[call] <= events.end_ns[step]


def test_own_step_calls(tmp_path):
    model = make_model()
    optimizer = make_optimizer(model)
    with profiler(tmp_path, model, schedule=Schedule(skip_first=3, active=2)) as prof:
        for x, y in make_loader(8):
            train_step(model, optimizer, x, y)
            prof.step()
    (window,) = windows_of(tmp_path)
    assert sorted(steps_of(window)) == [3, 4]


def test_validation_inside_a_window_makes_no_steps_there(tmp_path):
    model = make_model()
    with profiler(tmp_path, model, schedule=Schedule(skip_first=2, active=3)):
        for _ in range(4):
            train(model, 2)
            validate(model, 2)
    recording = read(tmp_path)
    assert recording.complete_steps() == list(range(8))
    (window,) = windows_of(tmp_path)
    assert sorted(steps_of(window)) == [2, 3, 4]
    assert "validation" in names_of(window, Kind.ANNOTATION)


def test_one_step_with_more_events_than_allowed_is_all_there_is(tmp_path):
    model = make_model()
    with profiler(tmp_path, model, schedule=Schedule(skip_first=4, active=3, max_events=5)):
        train(model, 10)
    (window,) = windows_of(tmp_path)
    assert steps_of(window) == [2]  # the probe: nothing smaller can be had


def test_a_window_is_shortened_to_the_events_allowed(tmp_path):
    model = make_model()
    with profiler(tmp_path, model, schedule=Schedule(skip_first=4, active=50, max_events=1000)):
        train(model, 60)
    (window,) = windows_of(tmp_path)
    steps = len(steps_of(window))
    assert 1 < steps < 50
    assert 1000 - 1000 / steps < len(window.events) <= 1000  # one step more would be too many


def test_events_with_shapes_count_twice(tmp_path):
    model = make_model()
    with profiler(tmp_path, model, schedule=Schedule(skip_first=4, active=50, max_events=1000), record_shapes=True):
        train(model, 60)
    (window,) = windows_of(tmp_path)
    assert len(window.events) <= 500


def test_options_reach_the_window(tmp_path):
    model = make_model()
    options = {"record_shapes": True, "with_stack": True, "profile_memory": True}
    with profiler(tmp_path, model, schedule=Schedule(skip_first=2, active=1), **options):
        train(model, 6)
    (window,) = windows_of(tmp_path)
    assert window.events.of_kind(Kind.MEMORY).any()
    assert window.events.of_kind(Kind.PYTHON, Kind.MODULE).any()
    assert any("Input Dims" in args for args in window.events.args_values)
    assert read(tmp_path).meta["options"]["record_shapes"] is True


def test_a_training_that_ends_too_early_says_why_there_is_no_window(tmp_path):
    model = make_model()
    with profiler(tmp_path, model, schedule=None, record_shapes=True):
        train(model, 4)
    recording = read(tmp_path)
    assert windows_of(tmp_path) == []
    details = " ".join(note.detail for note in recording.notes)
    assert "before step 10" in details
    assert set(recording.codes()) == {"requested_but_absent"}


def test_a_training_that_ends_inside_a_window_keeps_what_there_is(tmp_path):
    model = make_model()
    with profiler(tmp_path, model, schedule=Schedule(skip_first=4, active=10)):
        train(model, 7)
    (window,) = windows_of(tmp_path)
    assert sorted(steps_of(window)) == [4, 5, 6]


def test_a_window_leaves_nothing_to_the_garbage_collector(tmp_path):
    """Which would free its events in the midst of a step."""
    model = make_model()
    gc.collect()
    gc.disable()
    try:
        with profiler(tmp_path, model, schedule=Schedule(skip_first=4, active=2)) as prof:
            train(model, 8)
            assert prof._recording.windows.taken == 1
            sessions = [thing for thing in gc.get_objects() if type(thing) is torch.autograd.profiler.profile]
            assert [thing for thing in sessions if thing.kineto_results is not None] == []
    finally:
        gc.enable()


def test_a_failing_converter_leaves_the_trace_and_a_note(tmp_path, monkeypatch):
    from stepscope import conversions

    class Broken(conversions.Conversion):
        def __init__(self, trace, *arguments):
            trace.write_text("not a trace")
            super().__init__(trace, *arguments)

    monkeypatch.setattr(conversions, "Conversion", Broken)
    model = make_model()
    with profiler(tmp_path, model, schedule=Schedule(skip_first=2, active=1)):
        losses = train(model, 6)
    assert len(losses) == 6
    recording = read(tmp_path)
    (note,) = recording.notes
    assert note.code == "window_not_converted"
    (trace,) = recording.worker.folder.path.glob(".*.json")
    assert trace.name in note.detail


def test_a_trace_that_torch_could_not_write_leaves_a_note_and_no_rest(tmp_path, monkeypatch):
    def fail(self, path):  # as Kineto does where the disk is full
        with open(path + ".tmp", "w") as file:
            file.write("{")

    monkeypatch.setattr(torch.profiler.profile, "export_chrome_trace", fail)
    model = make_model()
    with profiler(tmp_path, model, schedule=Schedule(skip_first=2, active=1)):
        train(model, 6)
    recording = read(tmp_path)
    assert recording.complete_steps() == list(range(6))
    (note,) = recording.notes
    assert note.code == "window_not_converted"
    assert "could not write" in note.detail
    assert list(recording.worker.folder.path.glob(".*")) == []


def test_an_error_in_torchs_profiler_ends_the_windows_and_nothing_else(tmp_path, monkeypatch):
    def refuse(self):
        raise RuntimeError("no profiler today")

    monkeypatch.setattr(torch.profiler.profile, "start", refuse)
    model = make_model()
    with profiler(tmp_path, model, schedule=Schedule(skip_first=2, active=1)):
        train(model, 6)
    recording = read(tmp_path)
    assert recording.complete_steps() == list(range(6))
    assert "hook_failed" in recording.codes()
    assert any("no profiler today" in note.detail for note in recording.notes)


def train_until_stopped(prof, model, step, inside=False, joins=False):
    """Eight steps, in (or before) one of which another thread begins to stop ``prof``."""
    optimizer = make_optimizer(model)
    stopping = threading.Thread(target=prof.stop)

    def begin(*_):
        stopping.start()
        if joins:
            stopping.join()

    for i, (x, y) in enumerate(make_loader(8)):
        if i == step and not inside:
            begin()
        handle = model.register_forward_hook(begin) if i == step and inside else None
        train_step(model, optimizer, x, y)
        if handle is not None:
            handle.remove()
    stopping.join()


def assert_that_torchs_profiler_works(model):
    assert not torch.autograd.profiler._is_profiler_enabled
    gc.collect()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as own:
        train(model, 3)
        gc.collect()
    assert len(aten_events(own)) == 6


@pytest.mark.parametrize("inside", [False, True])
def test_another_thread_that_ends_the_recording_waits_for_the_step_of_an_open_window(tmp_path, inside):
    model = make_model()
    prof = profiler(tmp_path, model, schedule=Schedule(skip_first=2, active=6))
    prof.start()
    train_until_stopped(prof, model, 4, inside)
    (window,) = windows_of(tmp_path)
    assert sorted(steps_of(window))[:2] == [2, 3]
    assert read(tmp_path).codes() == []
    assert_that_torchs_profiler_works(model)


def test_a_window_whose_step_does_not_end_is_closed_once_it_does(tmp_path, monkeypatch):
    from stepscope_torch import window

    monkeypatch.setattr(window, "_CLOSE_S", 0.01)
    model = make_model()
    prof = profiler(tmp_path, model, schedule=Schedule(skip_first=2, active=6))
    prof.start()
    train_until_stopped(prof, model, 4, inside=True, joins=True)  # the training waits for that thread
    assert windows_of(tmp_path) == []
    (note,) = read(tmp_path).notes
    assert note.detail == "A deep window is missing: its step had not ended when another thread ended the recording."
    assert_that_torchs_profiler_works(model)


def test_a_window_whose_thread_has_ended_is_told_and_forgotten(tmp_path):
    model = make_model()
    prof = profiler(tmp_path, model, schedule=Schedule(skip_first=2, active=6))
    training = threading.Thread(target=lambda started: (started.start(), train(model, 5)), args=(prof,))
    training.start()
    training.join()
    prof.stop()
    assert windows_of(tmp_path) == []
    (note,) = read(tmp_path).notes
    assert note.detail == "A deep window is missing: its thread had ended when another thread ended the recording."
    del prof
    assert_that_torchs_profiler_works(model)


def test_a_recording_that_another_thread_ends_before_its_window_tells_of_no_exception(tmp_path):
    model = make_model()
    prof = profiler(tmp_path, model, schedule=None)
    prof.start()
    train_until_stopped(prof, model, 4, inside=True, joins=True)
    (note,) = read(tmp_path).notes
    assert note.detail == "No deep window: the recording ended before step 10, with which it would have begun."


@pytest.mark.parametrize(
    ("place", "name", "call", "steps"),
    [
        (torch.autograd.profiler, "_enable_profiler", 1, [0, 1]),  # opens the probe
        (torch.autograd.profiler, "_enable_profiler", 2, [0, 1, 2, 3]),  # opens the window
        (torch.autograd.profiler, "_disable_profiler", 2, [0, 1, 2, 3, 4, 5]),  # closes it
        (torch.profiler.profile, "export_chrome_trace", 1, [0, 1, 2, 3, 4, 5]),
    ],
)
def test_an_interrupt_while_a_window_opens_or_closes_is_told_and_ends_torchs_profiler(
    tmp_path, monkeypatch, place, name, call, steps
):
    original, calls = getattr(place, name), []

    def interrupted(*args, **kwargs):
        result = original(*args, **kwargs)
        calls.append(name)
        if len(calls) == call:
            signal.raise_signal(signal.SIGINT)
        return result

    model = make_model()
    with monkeypatch.context() as patched:
        patched.setattr(place, name, interrupted)
        with pytest.raises(KeyboardInterrupt), profiler(tmp_path, model, schedule=Schedule(skip_first=4, active=2)):
            train(model, 12)
    recording = read(tmp_path)
    assert recording.complete_steps() == steps
    (note,) = recording.notes
    assert note.detail == "A deep window is missing: KeyboardInterrupt came while it was opened or closed."
    assert not list(recording.worker.folder.path.glob(".*"))
    assert_that_torchs_profiler_works(model)


def aten_events(profile):
    return [event for event in profile.events() if event.name == "aten::addmm"]


def test_the_scripts_own_profiler_comes_first_when_it_runs_already(tmp_path):
    model = make_model()
    with (
        torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as own,
        profiler(tmp_path, model, schedule=Schedule(skip_first=2, active=1)),
    ):
        train(model, 6)
    assert len(aten_events(own)) == 12
    recording = read(tmp_path)
    assert windows_of(tmp_path) == []
    assert "window_postponed" in recording.codes()


def test_the_scripts_own_profiler_comes_first_when_it_starts_later(tmp_path):
    model = make_model()
    optimizer = make_optimizer(model)
    own = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    with profiler(tmp_path, model, schedule=Schedule(skip_first=2, active=3)):
        for i, (x, y) in enumerate(make_loader(20)):
            if i == 3:
                own.start()
            train_step(model, optimizer, x, y)
            if i == 5:
                own.stop()
    assert len(aten_events(own)) == 6
    (window,) = windows_of(tmp_path)
    assert sorted(steps_of(window)) == [12, 13, 14]  # ten steps after the one that was broken off
    assert "window_postponed" in read(tmp_path).codes()


def test_a_profiler_that_warms_up_is_one_too(tmp_path):
    """Both of torch's own flags say that nothing runs during a warm-up."""
    model = make_model()
    optimizer = make_optimizer(model)
    plan = torch.profiler.schedule(wait=1, warmup=3, active=2, repeat=1)
    with (
        profiler(tmp_path, model, schedule=Schedule(skip_first=3, active=1)),
        torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=plan) as own,
    ):
        for x, y in make_loader(20):
            train_step(model, optimizer, x, y)
            own.step()
    assert len(aten_events(own)) == 4
    assert "window_postponed" in read(tmp_path).codes()


def test_a_region_may_outlive_a_window(tmp_path):
    """Left in a later session of torch's profiler, a region of an earlier one ends the process."""
    model = make_model()
    optimizer = make_optimizer(model)
    plan = Schedule(skip_first=2, active=2, windows=3, every=4)
    with profiler(tmp_path, model, schedule=plan):
        regions = []
        for x, y in make_loader(16):
            regions += [torch.profiler.record_function("long"), annotate("long too")]
            for region in regions[-2:]:
                region.__enter__()
            train_step(model, optimizer, x, y)
            if len(regions) > 8:  # entered four steps ago, in the window before this one
                for region in (regions.pop(0), regions.pop(0)):
                    region.__exit__(None, None, None)
        for region in regions:
            region.__exit__(None, None, None)
    assert len(windows_of(tmp_path)) == 3
    enter = torch.profiler.record_function.__enter__
    assert enter.__module__ == "torch.autograd.profiler"
    assert not hasattr(enter, "__wrapped__")


def test_on_a_device_each_window_has_a_probe_that_warms_the_profiler_up(tmp_path, monkeypatch):
    from stepscope_torch import own_profile

    class Activities(list):
        """Those of the CPU, which are taken for two."""

        def __len__(self):
            return 2

    monkeypatch.setattr(own_profile, "activities", lambda: Activities([torch.profiler.ProfilerActivity.CPU]))
    model = make_model()
    with profiler(tmp_path, model, schedule=Schedule(skip_first=3, active=2, windows=2, every=5)):
        train(model, 12)
    assert [sorted(steps_of(w)) for w in windows_of(tmp_path)] == [[3, 4], [8, 9]]
    stalls = read(tmp_path).rows(Kind.OVERHEAD, "profiler_stall")
    assert len(stalls) == 8  # start and stop of two probes and two windows
