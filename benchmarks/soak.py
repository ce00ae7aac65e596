"""Memory and disk over time: a small training recorded with the defaults, as fast as it goes.

Prints the growth of the process's resident memory and the bytes of the run folder, as measured and for an hour at
the pace of the second half (limits for an hour: 20 MB and 50 MB). The resource monitor and one deep window are in.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
import torch
from torch.utils.data import DataLoader
from torch_overhead import Batches, small

from stepscope.runs import open_run
from stepscope_torch import Profiler

SAMPLE_S = 2.0
LIMIT_RSS, LIMIT_DISK = 20e6, 50e6


def folder_bytes(folder: Path) -> dict[str, int]:
    """Bytes by kind of file."""
    found: dict[str, int] = {}
    for path in folder.rglob("*"):
        if path.is_file():
            kind = (
                path.name.split("-")[0]
                if path.suffix == ".arrows"
                else "windows"
                if "windows" in path.parts
                else "other"
            )
            found[kind] = found.get(kind, 0) + path.stat().st_size
    return found


def soak(folder: Path, minutes: float) -> tuple[int, np.ndarray]:
    """Train for so long. Returns the steps, and samples (seconds, resident bytes, bytes on disk, steps)."""
    torch.set_num_threads(1)
    model, batch = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Batches(batch, 1000), batch_size=None)
    process, samples, steps = psutil.Process(), [], 0
    began = due = time.monotonic()
    with Profiler(folder, model):
        while time.monotonic() - began < 60 * minutes:
            for x in loader:
                optimizer.zero_grad()
                model(x).square().mean().backward()
                optimizer.step()
                steps += 1
            if time.monotonic() >= due:
                due = time.monotonic() + SAMPLE_S
                size = sum(folder_bytes(folder).values())
                samples.append((time.monotonic() - began, process.memory_info().rss, size, steps))
    return steps, np.array(samples)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "run"
        steps, samples = soak(folder, args.minutes)
        kinds = folder_bytes(folder)
        (worker,) = open_run(folder).workers
        notes = [f"{note.code}: {note.detail}" for note in worker.notes]
        budget = (worker.meta or {}).get("budget")
    seconds, resident, disk, done = samples.T
    half = seconds >= seconds[-1] / 2
    hour_rss = np.polyfit(seconds[half], resident[half], 1)[0] * 3600
    per_step = np.polyfit(done[half], disk[half], 1)[0]
    hour_disk = disk[-1] + np.polyfit(seconds[half], disk[half], 1)[0] * (3600 - seconds[-1])
    print(f"{steps:,} steps in {seconds[-1]:.0f} s: {1000 * seconds[-1] / steps:.2f} ms each (pid {os.getpid()})")
    print("on disk: " + ", ".join(f"{kind} {size / 1e6:.2f} MB" for kind, size in sorted(kinds.items())))
    print(
        f"a step of the second half: {per_step:.1f} bytes; an hour: {hour_disk / 1e6:.1f} MB of {LIMIT_DISK / 1e6:.0f}"
    )
    print(f"memory: {resident[0] / 1e6:.0f} -> {resident[-1] / 1e6:.0f} MB; an hour at the pace of the second half: "
          f"{hour_rss / 1e6:+.1f} MB ({LIMIT_RSS / 1e6:.0f})")  # fmt: skip
    print(f"budget: {budget}")
    for note in notes:
        print(f"note: {note}")


if __name__ == "__main__":
    main()
