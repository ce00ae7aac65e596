"""Turns a trace file that a profiler left into a deep window, in a process of its own.

``stepscope.converter`` starts it for each window: parsing and compressing in a thread would hold the training's GIL,
and forking a process that uses CUDA is unsafe. It imports no framework and ends by itself whatever becomes of its
parent.
``python -m stepscope.convert TRACE FOLDER`` does by hand what was left undone.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from stepscope.child import keep_out_of_reach
from stepscope.errors import StepscopeError
from stepscope.pace import Pace
from stepscope.schema import DEVICE_WORK, Kind, Note, Window

#: Why a window was taken, in its reason, where somebody asked for it while the job ran.
ON_DEMAND = "on_demand"
_MODULE_PREFIX = "nn.Module: "
_GZIP_LEVEL = 1  # 1.1 us an event against 11 us at level 9, for a file 1.5 times as big


def convert(trace: Path, folder: Path, about: Mapping[str, Any] | None = None) -> None:
    """Import ``trace``, write it as the window ``folder``, keep the source in it compressed, remove ``trace``.

    Args:
        about: what the hook tells, for ``window.header["stepscope"]``.

    Raises:
        StepscopeError: the file is no trace, or the window cannot be written.
    """
    from stepscope.importers import import_file
    from stepscope.store import write_window

    window = import_file(trace)
    _complete(window, folder.parent.parent / "worker.json")
    if about:
        told = window.header.get("stepscope")
        window.header["stepscope"] = {**(told if isinstance(told, dict) else {}), **about}
    reason = (about or {}).get("reason")
    if reason is not None and reason.get("why") != ON_DEMAND:
        from stepscope.flight import sentence

        window.notes.append(Note("flight_recorder", 1, f"Taken by the flight recorder. {sentence(reason)}"))
    _drop_void_steps(window)
    _tell_modules(window)
    _check_device_work(window)
    write_window(folder, window)
    _keep_source(trace, folder)
    trace.unlink()


def _complete(window: Window, worker_json: Path) -> None:
    """What the trace does not say about its process, from the worker that recorded it."""
    from stepscope.store.layout import read_json

    try:
        meta = read_json(worker_json)
    except StepscopeError:
        return
    if window.framework == "unknown":
        window.framework = meta.get("framework") or "unknown"
    if window.rank is None and meta.get("rank") is not None:
        window.rank = meta["rank"]
        window.rank_from = "metadata"
        window.notes = [n for n in window.notes if n.code != "rank_unknown"]
    for name in ("world_size", "host", "pid"):
        if getattr(window, name) is None:
            setattr(window, name, meta.get(name))


def _drop_void_steps(window: Window) -> None:
    """Take out step markers that the hook opened and then found to be no step (validation, an epoch's end).

    The header field ``stepscope`` lists them as ``void_markers``, by their place among the markers.
    """
    mine = window.header.get("stepscope")
    void = mine.get("void_markers") if isinstance(mine, dict) else None
    if not void:
        return
    import numpy as np

    steps = np.flatnonzero(window.events.of_kind(Kind.STEP))
    steps = steps[np.argsort(window.events.ts_ns[steps], kind="stable")]
    keep = np.ones(len(window.events), bool)
    keep[steps[[i for i in void if i < len(steps)]]] = False
    window.events = window.events.take(keep)


def _tell_modules(window: Window) -> None:
    """Scopes that the hook makes around the calls of modules come out of torch's profiler as operators."""
    import numpy as np

    events = window.events
    is_module = np.array([name.startswith(_MODULE_PREFIX) for name in events.names], bool)
    if is_module.any():
        kind = events.kind.copy()
        kind[events.of_kind(Kind.OP) & is_module[events.name]] = Kind.MODULE
        window.events = replace(events, kind=kind)


def _check_device_work(window: Window) -> None:
    """A GPU profiler that lost its kernels says nothing; launches without any device work give it away."""
    launches = int(window.events.of_kind(Kind.LAUNCH).sum())
    if launches and not window.events.of_kind(*DEVICE_WORK).any():
        window.notes.append(
            Note(
                "requested_but_absent",
                1,
                f"The window holds {launches} launches but no device work: the driver delivered no kernel records. "
                "Another profiler attached to this GPU, or missing permissions, are the usual reasons.",
            )
        )


def _keep_source(trace: Path, folder: Path) -> None:
    """The source beside the columns: JSON compressed, an XPlane (which its own tools read only plain) as it is."""
    with open(trace, "rb") as source:
        is_json = source.read(64).lstrip()[:1] in (b"{", b"[")
        source.seek(0)
        name = "trace.json.gz" if is_json else "trace.xplane.pb"
        beside = folder / f".{name}.tmp"
        if is_json:
            with gzip.open(beside, "wb", compresslevel=_GZIP_LEVEL) as target:
                shutil.copyfileobj(source, target, 1 << 20)
        else:
            with open(beside, "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
    os.replace(beside, folder / name)


def finish(trace: Path, folder: Path, about: Mapping[str, Any]) -> None:
    """``convert``, where another process was ended in the middle of that."""
    for unfinished in folder.parent.glob(f".{folder.name}.*.tmp"):
        shutil.rmtree(unfinished, ignore_errors=True)
    if not folder.exists():
        convert(trace, folder, about)
    elif trace.exists():  # a window's folder appears whole
        _keep_source(trace, folder)
        trace.unlink()


def _do_work(pace: Pace) -> None:
    """What a line on standard input asks for; nothing if the parent ends without a word."""
    import stepscope.importers
    import stepscope.store  # noqa: F401  two thirds of the time of a small window, while the profiler still stops

    line = pace.line()
    if not line:
        return
    work = json.loads(line)
    if work["at_once"]:
        pace.end_rests()
    trace = Path(work["trace"])
    try:
        (finish if work["again"] else convert)(trace, Path(work["folder"]), work["about"])
    finally:
        take_over(trace.parent, work["parent"])


def waiting_note(folder: Path, window: str) -> Path:
    """What tells of a trace in ``folder`` that waits for its turn to become ``window``."""
    return folder / f".{window}.waiting.json"


def take_over(folder: Path, parent: int) -> None:
    """Convert what waits in ``folder`` for its turn, once ``parent``, which would have given it, has ended."""
    for note in sorted(folder.glob(waiting_note(folder, "*").name)):
        if os.getppid() == parent:
            return
        try:
            work = json.loads(note.read_bytes())
            note.unlink()
            convert(Path(work["trace"]), Path(work["folder"]), work["about"])
        except (StepscopeError, OSError, ValueError, KeyError) as error:  # another one was quicker, say
            print(f"{note.name}: {error}", file=sys.stderr)


def convert_as_told(pace: Pace) -> int:
    """The exit status of a process that ``converter`` has started."""
    keep_out_of_reach()
    return _status_of(lambda: _do_work(pace))


def main(argv: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    if len(arguments) != 2:
        print("usage: python -m stepscope.convert TRACE FOLDER", file=sys.stderr)
        return 2
    return _status_of(lambda: convert(Path(arguments[0]), Path(arguments[1])))


def _status_of(work: Callable[[], None]) -> int:
    try:
        work()
    except (StepscopeError, OSError, MemoryError) as error:
        print(str(error) or type(error).__name__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
