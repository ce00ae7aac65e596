"""Tell in what state each worker of a run is, running, finished, hung or killed, and what of its data is missing."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepscope.doctor import Diagnosis, Examination

NAME = "doctor"
HELP = "tell how the workers of a run are, or how they ended"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", help="the run folder")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="json: for scripts (default: text)")
    parser.epilog = "Exit status: 0 if every rank runs or finished and all files are whole, 1 otherwise."


def run(args: argparse.Namespace) -> int:
    from stepscope.doctor import examine
    from stepscope.errors import StepscopeError
    from stepscope.runs import open_run

    found = examine(open_run(args.path))
    if not found.workers and not found.problems:
        raise StepscopeError(f"{args.path}: was not recorded by stepscope. Give the run folder of a training.")
    print(json.dumps({**asdict(found), "well": found.is_well}) if args.format == "json" else _text(found))
    return int(not found.is_well)


def _text(found: Examination) -> str:
    from stepscope.report.format import count, printable

    lines = [count(len(found.workers), "worker")]
    if found.missing_ranks:
        shown = ", ".join(map(str, found.missing_ranks[:20])) + (", ..." if len(found.missing_ranks) > 20 else "")
        lines.append(f"Of {found.world_size} ranks {len(found.missing_ranks)} left nothing here: {shown}")
    if found.repeated_ranks:
        lines.append(f"Recorded more than once (a restart?): ranks {', '.join(map(str, found.repeated_ranks))}")
    lines += found.problems
    for worker in found.workers:
        lines += ["", *_worker(worker)]
    return "\n".join(printable(line) for line in lines)


def _worker(worker: Diagnosis) -> list[str]:
    lines = [f"{worker.worker}: {worker.state.upper()}. {worker.detail}"]
    if worker.last_step is None:
        lines.append("  last step    none ended")
    else:
        lines.append(f"  last step    {worker.last_step}, ended {_clock(worker.last_step_end_ns)}")
    lines.append(f"  last data    {_clock(worker.data_until_ns)}")
    if worker.open is not None:
        step, phase = worker.open["step"], worker.open["phase"]
        where = f"{'outside steps' if step is None else f'step {step}'}, {phase or 'between phases'}"
        lines.append(f"  open         {where}, since {_clock(worker.open['since_ns'])}")
        lines += [f"               {frame}" for frame in worker.open["stack"] or []]
    if worker.windows:
        lines.append(f"  windows      {worker.windows}")
    lines += [f"  unfinished   {name}: a window that was not converted" for name in worker.unfinished]
    lines += [f"  damaged      {note.detail}" for note in worker.damage]
    lines += [f"  note         {note.detail}" + (f" ({note.count})" if note.count > 1 else "") for note in worker.notes]
    return lines


def _clock(ns: int | None) -> str:
    """A time of day here; of another day with its date."""
    if ns is None:
        return "unknown"
    when = datetime.fromtimestamp(ns / 1e9)
    text = when.strftime("%H:%M:%S.") + f"{when.microsecond // 1000:03d}"
    return text if when.date() == datetime.now().date() else f"{when:%Y-%m-%d} {text}"
