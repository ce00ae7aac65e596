"""Memory and disk over time: a small training recorded with the defaults, as fast as it goes or with pauses.

Prints the growth of the process's resident memory and the bytes of the run folder, as measured and for an hour at
the pace of the second half (limits for an hour: 20 MB and 50 MB). The resource monitor and one deep window are in;
memory is counted from the second minute on, when what they load is loaded. ``--without`` trains the same without the
profiler: what grows there too is not its own.
"""

from __future__ import annotations

import argparse
import contextlib
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
#: Seconds after which memory should no longer grow.
SETTLED_S = 60.0
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


def soak(folder: Path, minutes: float, pause_ms: float, told_s: float, record: bool) -> tuple[int, np.ndarray]:
    """Train for so long. Returns the steps, and samples (seconds, resident bytes, bytes on disk, steps)."""
    torch.set_num_threads(1)
    model, batch = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Batches(batch, 1000), batch_size=None)
    process, samples, steps = psutil.Process(), [], 0
    began = due = told = time.monotonic()
    with Profiler(folder, model) if record else contextlib.nullcontext():
        while time.monotonic() - began < 60 * minutes:
            for x in loader:
                optimizer.zero_grad()
                model(x).square().mean().backward()
                optimizer.step()
                steps += 1
                if pause_ms:
                    time.sleep(pause_ms / 1000)
            now = time.monotonic()
            if now >= due:
                due = now + SAMPLE_S
                samples.append((now - began, process.memory_info().rss, sum(folder_bytes(folder).values()), steps))
            if now >= told:
                told = now + told_s
                _, resident, size, _ = samples[-1]
                print(
                    f"{now - began:6.0f} s: {resident / 1e6:.1f} MB resident, {size / 1e6:.2f} MB on disk", flush=True
                )
    return steps, np.array(samples)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.5)
    parser.add_argument("--pause-ms", type=float, default=0.0, help="after each step")
    parser.add_argument("--told-every", type=float, default=600.0, metavar="SECONDS")
    parser.add_argument("--without", action="store_true", help="train without the profiler")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "run"
        steps, samples = soak(folder, args.minutes, args.pause_ms, args.told_every, not args.without)
        seconds, resident, disk, done = samples.T
        print(f"{steps:,} steps in {seconds[-1]:.0f} s: {1000 * seconds[-1] / steps:.2f} ms each (pid {os.getpid()})")
        tell_memory(seconds, resident)
        if not args.without:
            tell_disk(seconds, disk, done)
            tell_run(folder)


def second_half(seconds: np.ndarray, values: np.ndarray) -> float:
    """The slope of the second half."""
    half = seconds >= seconds[-1] / 2
    slope: float = np.polyfit(seconds[half], values[half], 1)[0]
    return slope


def tell_memory(seconds: np.ndarray, resident: np.ndarray) -> None:
    settled = resident[seconds >= min(SETTLED_S, seconds[-1] / 2)]
    print(
        f"memory: {resident[0] / 1e6:.1f} MB at the start, {settled[0] / 1e6:.1f} -> {settled[-1] / 1e6:.1f} MB once "
        f"settled, {settled.max() / 1e6:.1f} at most; an hour at the pace of the second half: "
        f"{second_half(seconds, resident) * 3600 / 1e6:+.1f} MB ({LIMIT_RSS / 1e6:.0f})"
    )


def tell_disk(seconds: np.ndarray, disk: np.ndarray, done: np.ndarray) -> None:
    hour = disk[-1] + second_half(seconds, disk) * (3600 - seconds[-1])
    half = seconds >= seconds[-1] / 2
    per_step = np.polyfit(done[half], disk[half], 1)[0]
    print(f"a step of the second half: {per_step:.1f} bytes; an hour: {hour / 1e6:.1f} MB of {LIMIT_DISK / 1e6:.0f}")


def tell_run(folder: Path) -> None:
    print("on disk: " + ", ".join(f"{kind} {size / 1e6:.2f} MB" for kind, size in sorted(folder_bytes(folder).items())))
    (worker,) = open_run(folder).workers
    print(f"budget: {(worker.meta or {}).get('budget')}")
    for note in worker.notes:
        print(f"note: {note.code}: {note.detail}")


if __name__ == "__main__":
    main()
