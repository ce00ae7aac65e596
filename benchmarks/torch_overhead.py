"""What the always-on PyTorch hooks cost, in us a step, on a step of about 0.3 ms and one of about 50 ms.

Run it with ``python benchmarks/torch_overhead.py``. Pairs of blocks, one with and one without the hooks, alternate in
one process in random order; a block's figure is the median CPU time of the training thread a step, and
the result the median of the pairs' differences. CPU time, since other load on the machine would drown
10 us. ``--null`` compares blocks without hooks with each other: what is noise.
"""

from __future__ import annotations

import argparse
import platform
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from stepscope_torch import Profiler

Step = Callable[[torch.Tensor], None]


class Batches(Dataset):
    """Ready-made batches: fetching one costs next to nothing."""

    def __init__(self, batch: torch.Tensor, count: int) -> None:
        self.batch = batch
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> torch.Tensor:
        if index >= self.count:
            raise IndexError(index)
        return self.batch


def small() -> tuple[nn.Module, torch.Tensor]:
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    return model, torch.randn(32, 64)


def large() -> tuple[nn.Module, torch.Tensor]:
    layer = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
    return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), torch.randn(16, 32, 128)


def run_block(model: nn.Module, batch: torch.Tensor, optimizer: torch.optim.Optimizer, steps: int, warmup: int) -> int:
    """Median CPU time of the training thread, ns a step."""
    loader = DataLoader(Batches(batch, warmup + steps), batch_size=None)
    times = []
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
    return int(statistics.median(times))


def pairs(
    build: Callable[[], tuple[nn.Module, torch.Tensor]], steps: int, count: int, null: bool
) -> Iterator[tuple[int, int]]:
    """(without, with) of each pair of blocks."""
    torch.manual_seed(0)
    model, batch = build()
    optimizer = torch.optim.Adam(model.parameters())
    warmup = max(3, steps // 10)
    run_block(model, batch, optimizer, steps, warmup)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(count):
            figures = {}
            for hooked in random.sample([False, True], 2):
                profiler = Profiler(Path(folder), model, schedule=False, monitor_interval_ms=None)
                if hooked and not null:
                    profiler.start()
                figures[hooked] = run_block(model, batch, optimizer, steps, warmup)
                profiler.stop()
            yield figures[False], figures[True]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--null", action="store_true", help="compare blocks without hooks with each other")
    parser.add_argument("--only", choices=["small", "large"])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}, 1 thread")
    for name, build, steps in (("small", small, 400), ("large", large, 8)):
        if arguments.only not in (None, name):
            continue
        measured = list(pairs(build, steps, arguments.pairs, arguments.null))
        base_us = statistics.median(without for without, _ in measured) / 1000
        extra_us = sorted((hooked - without) / 1000 for without, hooked in measured)
        quartiles = f"{extra_us[len(extra_us) // 4]:.1f} .. {extra_us[3 * len(extra_us) // 4]:.1f}"
        median_us = statistics.median(extra_us)
        print(
            f"{name}: a step of {base_us:.0f} us takes {median_us:.1f} us more with hooks "
            f"(quartiles {quartiles}), {100 * median_us / base_us:.2f} %"
        )


if __name__ == "__main__":
    main()
