"""Whether steps are as long as without the profiler: the slowest in a hundred beside the writer thread and the resource
monitor, those before and after a deep window of 100,000 events, and each of those right after one, whose trace another
process converts meanwhile.

Blocks of steps with the profiler, without it, and without it once more (the control: what is noise) alternate in one
process in random order; results are medians over the rounds of the ratios within a round. Wall time shows what waits
for Python's lock; on a machine that does something else its upper percentiles show that, so CPU time is told as well.
Least noise has what follows: within the runs with the profiler, all steps beside those that no write of the recorder
and no sample of the monitor met.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader
from torch_overhead import VARIANTS, Batches, large, small

from stepscope.recorder import Recorder
from stepscope.runs import open_run
from stepscope.schema import MONITOR_SCHEMA, Kind
from stepscope.store import read_stream
from stepscope_torch import Profiler, Schedule

#: Seconds at the begin of a block that do not count: the monitor's process starts.
WARMUP_S = 1.5
LIMIT = 1.02
#: What a write and a sample of the monitor take at most, with all that belongs to them.
WRITE_NS, SAMPLE_NS = 2_000_000, 5_000_000
#: Steps from the begin of one window of three steps to that of the next, for the steps right after them.
EVERY = 44
#: Steps, counted from the begin of a window: those whose median is 1, and what is divided by it.
USUAL = range(-18, -3)
JUDGED = (("7 steps before", range(-10, -3)), ("20 steps after", range(3, 23)))
#: The control: all that stands still for so long goes on slowly.
PAUSE_S = 0.015


def medium() -> tuple[nn.Module, torch.Tensor]:
    """A step of some milliseconds."""
    layer = nn.TransformerEncoderLayer(64, 4, 256, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), torch.randn(8, 16, 64)


def steps(model: nn.Module, batch: torch.Tensor, optimizer: torch.optim.Optimizer) -> Iterator[tuple[int, int]]:
    """Wall and CPU time of the training thread, in ns, of one step after the other."""
    while True:
        wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
        for x in DataLoader(Batches(batch, 10_000), batch_size=None):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
            now, now_cpu = time.perf_counter_ns(), time.thread_time_ns()
            yield now - wall, now_cpu - cpu
            wall, cpu = now, now_cpu


def block(model: nn.Module, batch: torch.Tensor, optimizer: torch.optim.Optimizer, seconds: float) -> np.ndarray:
    """Times (steps, 2) of so many seconds after the warm-up."""
    began, times = time.monotonic(), []
    for took in steps(model, batch, optimizer):
        elapsed = time.monotonic() - began
        if elapsed > WARMUP_S + seconds:
            return np.array(times)
        if elapsed > WARMUP_S:
            times.append(took)
    raise AssertionError("the training ended")


def beside_the_writer(name: str, built: tuple[nn.Module, torch.Tensor], rounds: int, seconds: float) -> None:
    model, batch = built
    optimizer = torch.optim.Adam(model.parameters())
    figures: dict[str, list[np.ndarray]] = {variant: [] for variant in VARIANTS}
    recorded = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for variant in random.sample(VARIANTS, len(VARIANTS)):
                profiler = Profiler(Path(folder), model, schedule=False)
                writes: list[int] = []
                if variant == "with":
                    profiler.start()
                    assert profiler._recording is not None
                    recorder = profiler._recording.recorder
                    for calls in (recorder.each_write, recorder.each_round):
                        calls.append(lambda writes=writes: writes.append(time.perf_counter_ns()))
                times = block(model, batch, optimizer, seconds)
                now = time.perf_counter_ns()
                profiler.stop()
                if variant == "with":
                    ends = now - np.cumsum(times[::-1, 0])[::-1] + times[:, 0]
                    recorded.append((times[:, 0], is_met(ends, moments(recorder, writes))))
                waits = times[:, 0] - times[:, 1]
                figures[variant].append(np.percentile(np.column_stack((times, waits)), (50, 99), axis=0) / 1000)
    usual = np.median(figures["without"], axis=0)
    for row, percentile in enumerate(("median", "p99")):
        for column, clock in enumerate(("wall", "CPU")):
            told = ", ".join(f"{variant} {ratio(figures, variant, row, column)}" for variant in ("with", "control"))
            print(f"{name}, {clock} {percentile}: {usual[row, column]:.0f} us; {told} (limit {LIMIT})")
    waits = ", ".join(f"{variant} {np.median(figures[variant], axis=0)[1, 2]:.0f} us" for variant in VARIANTS)
    print(f"{name}, p99 of the time in which a step did not run: {waits}")
    wall, met = (np.concatenate(parts) for parts in zip(*recorded, strict=True))
    part = f"{met.mean():.1%} of {len(wall)} steps met a write or a sample, or followed such a step"
    excess = np.median(wall[met]) / np.median(wall[~met])
    p99 = np.percentile(wall, 99) / np.percentile(wall[~met], 99)
    print(f"{name}, in the runs with the profiler: {part}; their median {excess:.3f} of that of the others")
    print(f"{name}, wall p99 of all steps beside that of the others: {p99:.3f} (limit {LIMIT})")


def moments(recorder: Recorder, writes: list[int]) -> np.ndarray:
    """Begin and end (perf_counter ns) of what the writer did, given the ends, and of what the monitor did."""
    samples = read_stream(recorder.folder.monitor_path(), MONITOR_SCHEMA).column("ts_ns").to_numpy()
    begins = np.unique(samples) - recorder.clock.offset_ns
    written = np.array(writes)
    return np.concatenate(
        (np.column_stack((written - WRITE_NS, written)), np.column_stack((begins, begins + SAMPLE_NS)))
    )


def is_met(ends: np.ndarray, moments: np.ndarray) -> np.ndarray:
    """Of each step, given the ends of all, whether it or the one before it lies in one of the moments."""
    met = np.full(len(ends), False)
    for first, last in np.searchsorted(ends, moments):
        met[first : last + 2] = True
    return met


def ratio(figures: dict[str, list[np.ndarray]], variant: str, row: int, column: int) -> str:
    """Median and quartiles of the ratios to the steps without the profiler."""
    pairs = zip(figures[variant], figures["without"], strict=True)
    found = sorted(a[row, column] / b[row, column] for a, b in pairs)
    return f"{statistics.median(found):.3f} ({found[len(found) // 4]:.3f} .. {found[3 * len(found) // 4]:.3f})"


def around_a_window(rounds: int, around: int = 400) -> None:
    """The CPU time of steps after a window of 100,000 events over that before it, and the stalls that the run tells.

    The control does the same without the window.
    """
    model, batch = small()
    optimizer = torch.optim.Adam(model.parameters())
    ratios: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(rounds):
        for windows in random.sample((True, False), 2):
            with tempfile.TemporaryDirectory() as folder:
                plan = Schedule(skip_first=around + 20, active=10**6) if windows else False
                profiler = Profiler(Path(folder), model, schedule=plan, monitor_interval_ms=None)
                with profiler:
                    training = steps(model, batch, optimizer)
                    before = [next(training) for _ in range(around)][20:]
                    for took in training:
                        taken = profiler._recording is None or profiler._recording.windows.taken
                        if taken or (not windows and took[0]):
                            break
                    after = [next(training) for _ in range(around)]
                ratios[windows].append(usual_cpu(after) / usual_cpu(before))
                if windows:
                    told = stalls(Path(folder))
    for windows, name in ((True, "a window"), (False, "control")):
        found = sorted(ratios[windows])
        quartiles = f"{found[len(found) // 4]:.3f} .. {found[3 * len(found) // 4]:.3f}"
        print(f"CPU time of steps after {name} over that before: {statistics.median(found):.3f} ({quartiles})")
    print(told)


def usual_cpu(times: list[tuple[int, int]]) -> float:
    return float(np.percentile(np.array(times)[:, 1], 20))


def right_after(name: str, built: tuple[nn.Module, torch.Tensor], windows: int, threads: int) -> None:
    """Wall time of each step after a window over the median of those before it: medians over the windows, and of the
    first step what 90 % of medians of as many windows drawn anew (bootstrap) are between. The control has pauses of
    15 ms in place of the windows.
    """
    model, batch = built
    optimizer = torch.optim.Adam(model.parameters())
    torch.set_num_threads(threads)
    for what in ("a window", "a pause"):
        plan = Schedule(skip_first=EVERY, active=3, windows=windows, every=EVERY) if what == "a window" else False
        with tempfile.TemporaryDirectory() as folder:
            with Profiler(Path(folder), model, schedule=plan, monitor_interval_ms=None, flight_recorder=False):
                training = steps(model, batch, optimizer)
                for number in range((windows + 1) * EVERY):
                    next(training)
                    if what == "a pause" and number % EVERY == 2:
                        time.sleep(PAUSE_S)
            (worker,) = open_run(Path(folder)).workers
            live = worker.live()
            rows = live.of_kind(Kind.STEP)
            took = dict(zip(live.step[rows].tolist(), live.dur_ns[rows].tolist(), strict=True))
        usual = statistics.median(took.values()) / 1e6
        print(f"{name}, {threads} of {os.cpu_count()} cores, {usual:.1f} ms, {windows} times {what}:")
        begins = range(EVERY, (windows + 1) * EVERY, EVERY)
        before = [statistics.median(took[begin + i] for i in USUAL) for begin in begins]
        for where, judged in JUDGED:
            ratios = np.array([[took[at + i] / one for i in judged] for at, one in zip(begins, before, strict=True)])
            print(f"  {where}: {' '.join(f'{value:.3f}' for value in np.median(ratios, axis=0))}")
        drawn = np.random.default_rng(0).choice(ratios[:, 0], (2000, windows))
        low, high = np.percentile(np.median(drawn, axis=1), (5, 95))
        print(f"  the first of them {low:.3f} .. {high:.3f}")
    torch.set_num_threads(1)


def stalls(run: Path) -> str:
    (worker,) = open_run(run).workers
    (window,) = worker.windows()
    live = worker.live()
    told = live.dur_ns[live.of_kind(Kind.OVERHEAD)] / 1e9
    return f"a window of {len(window.events):,} events: stalls told {sum(told):.2f} s, the longest {max(told):.2f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=2.0, help="of a block; more for the p99 of the large step")
    parser.add_argument("--only", choices=["small", "medium", "large", "window", "after"])
    parser.add_argument("--windows", type=int, default=50, help="whose next steps are looked at")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of torch, for the steps after a window")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, torch {torch.__version__}, 1 thread")
    for name, build in (("small", small), ("medium", medium), ("large", large)):
        if arguments.only in (None, name):
            beside_the_writer(name, build(), arguments.rounds, arguments.seconds)
    if arguments.only in (None, "window"):
        around_a_window(arguments.rounds)
    if arguments.only in (None, "after"):
        for name, build in (("medium", medium), ("large", large)):
            right_after(name, build(), arguments.windows, arguments.threads)


if __name__ == "__main__":
    main()
