"""What the always-on PyTorch hooks cost, in us a step, on a step of about 0.3 ms and one of about 50 ms; what stopping
a deep window of 100,000 events costs; and an annotation.

Blocks of steps with the hooks, without them, and without them once more (the control: what is noise)
alternate in one process in random order. A block's figure is the 20th percentile of the CPU time of the
training thread a step, or the mean of a step, in which the steps are that are worked out in full, the samples of
modules and what the writer thread pushes out of the caches; results are medians over the rounds of the differences
within a round.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import statistics
import tempfile
import time
import timeit
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from stepscope import annotate
from stepscope.runs import open_run
from stepscope_torch import Profiler, Schedule
from stepscope_torch.window import DeepWindows

Built = tuple[nn.Module, torch.Tensor]
VARIANTS = ("without", "control", "with")


class Batches(Dataset):
    """Ready-made batches: fetching one costs next to nothing."""

    def __init__(self, batch: torch.Tensor, count: int) -> None:
        self.batch = batch
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.batch


def small() -> Built:
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    return model, torch.randn(32, 64)


def large() -> Built:
    layer = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
    return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), torch.randn(16, 32, 128)


def run_block(
    model: nn.Module, batch: torch.Tensor, optimizer: torch.optim.Optimizer, steps: int, warmup: int
) -> tuple[int, int]:
    """CPU time of the training thread, ns a step: 20th percentile and mean."""
    loader = DataLoader(Batches(batch, warmup + steps), batch_size=None)
    times = []
    last = 0
    for i, x in enumerate(loader):
        if i == warmup:
            last = time.thread_time_ns()
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        if i >= warmup:
            now = time.thread_time_ns()
            times.append(now - last)
            last = now
    return sorted(times)[len(times) // 5], sum(times) // len(times)


def measure(build: Callable[[], Built], steps: int, rounds: int) -> dict[str, list[tuple[int, int]]]:
    """The figures of each variant in each round."""
    torch.manual_seed(0)
    model, batch = build()
    optimizer = torch.optim.Adam(model.parameters())
    warmup = max(3, steps // 8)
    run_block(model, batch, optimizer, steps, warmup)
    figures: dict[str, list[tuple[int, int]]] = {variant: [] for variant in VARIANTS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for variant in random.sample(VARIANTS, len(VARIANTS)):
                profiler = Profiler(Path(folder), model, schedule=False, monitor_interval_ms=None)
                if variant == "with":
                    profiler.start()
                figures[variant].append(run_block(model, batch, optimizer, steps, warmup))
                profiler.stop()
    return figures


def window_stop(options: dict[str, bool]) -> tuple[int, float]:
    """Events of a deep window that is bounded by them alone, and the CPU seconds that the training stands still."""
    model, batch = small()
    optimizer = torch.optim.Adam(model.parameters())
    spent: list[float] = []
    stop = DeepWindows._stop

    def timed_stop(self: DeepWindows, *arguments: int) -> None:
        began = time.thread_time()
        stop(self, *arguments)
        spent.append(time.thread_time() - began)

    DeepWindows._stop = timed_stop  # type: ignore[method-assign]
    try:
        with tempfile.TemporaryDirectory() as folder:
            plan = Schedule(skip_first=20, active=10**6)
            with Profiler(Path(folder), model, schedule=plan, monitor_interval_ms=None, **options):
                run_block(model, batch, optimizer, 450, 3)
            (window,) = open_run(Path(folder)).workers[0].windows()
            return len(window.events), spent[-1]
    finally:
        DeepWindows._stop = stop  # type: ignore[method-assign]


def annotation_ns() -> float:
    """CPU time of an annotated region, less the loop around it."""

    def empty() -> None:
        pass

    def region() -> None:
        with annotate("region"):
            pass

    with_region, without = (
        min(timeit.repeat(f, number=20_000, repeat=7, timer=time.thread_time)) for f in (region, empty)
    )
    return (with_region - without) / 20_000 * 1e9


def difference(figures: dict[str, list[tuple[int, int]]], variant: str, which: int) -> str:
    """Median and quartiles, us a step."""
    pairs = zip(figures[variant], figures["without"], strict=True)
    extra = sorted((a[which] - b[which]) / 1000 for a, b in pairs)
    quartiles = f"{extra[len(extra) // 4]:.1f} .. {extra[3 * len(extra) // 4]:.1f}"
    return f"{statistics.median(extra):+.1f} us ({quartiles})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--only", choices=["small", "large", "window", "annotation"])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, "
        f"Python {platform.python_version()}, torch {torch.__version__}, 1 thread"
    )
    for name, build, steps in (("small", small, 400), ("large", large, 8)):
        if arguments.only in (None, name):
            figures = measure(build, steps, arguments.rounds)
            for which, told in enumerate(("20th percentile", "mean")):
                base_us = statistics.median(figure[which] for figure in figures["without"]) / 1000
                print(
                    f"{name}, {told}: {base_us:.0f} us a step; with hooks {difference(figures, 'with', which)}; "
                    f"control {difference(figures, 'control', which)}"
                )
    if arguments.only in (None, "window"):
        for options in ({}, {"record_shapes": True}, {"with_stack": True}):
            events, stop_s = window_stop(options)
            told = ", ".join(options) or "no options"
            print(f"window, {told}: {events:,} events, {stop_s:.2f} s to stop, {stop_s / events * 1e6:.1f} us an event")
    if arguments.only in (None, "annotation"):
        idle = annotation_ns()
        with tempfile.TemporaryDirectory() as folder, Profiler(Path(folder), schedule=False, monitor_interval_ms=None):
            print(f"annotation: {annotation_ns():.0f} ns while recording, {idle:.0f} ns idle")


if __name__ == "__main__":
    main()
