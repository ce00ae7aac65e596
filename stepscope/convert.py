"""Turns a trace file that a profiler left into a deep window, in a process of its own.

``python -m stepscope.convert TRACE FOLDER [ABOUT]`` is what the hooks start after each window: parsing and
compressing in a thread would hold the training's GIL, and forking a process that uses CUDA is unsafe.
The child imports no framework, runs at low priority and ends by itself whatever becomes of its parent.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import site
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from stepscope.errors import StepscopeError
from stepscope.schema import DEVICE_WORK, Kind, Note, Window

_NICENESS = 10
_MODULE_PREFIX = "nn.Module: "
_GZIP_LEVEL = 1  # 1.1 us an event against 11 us at level 9, for a file 1.5 times as big
#: Variables that are meant for the training process and would act on the child too.
_NOT_FOR_CHILD = ("PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONPROFILEIMPORTTIME", "CUDA_INJECTION64_PATH")


class Conversion:
    """A running converter. ``trace`` is removed when it succeeds and kept when it fails.

    Args:
        reason: why the window was taken, for ``window.header["stepscope"]["reason"]``; None where it was planned.
        void_markers: step markers that are no steps, by their place among the markers, if the trace does not tell.

    Raises:
        OSError: the child could not be started.
    """

    def __init__(
        self,
        trace: Path,
        folder: Path,
        reason: Mapping[str, Any] | None = None,
        void_markers: Sequence[int] = (),
    ) -> None:
        about = {"reason": reason, "void_markers": list(void_markers)}
        self.trace = trace
        self.folder = folder
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the child
        self._child = subprocess.Popen(
            [
                *(sys.executable, "-m", "stepscope.convert", str(trace.absolute()), str(folder.absolute())),
                json.dumps({name: told for name, told in about.items() if told}),
            ],
            cwd=trace.parent,  # -m puts the working directory on the path: not the user's, with its random.py
            env=child_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            start_new_session=True,  # Ctrl+C ends the training, not the conversion of what it left
        )

    @property
    def running(self) -> bool:
        return self._child.poll() is None

    def wait(self, timeout_s: float) -> bool:
        """Wait for the child; False if it still runs after ``timeout_s``."""
        try:
            self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def error(self) -> str | None:
        """Why the conversion failed: the child's last line on standard error. None while it runs or went well."""
        if self._child.poll() in (None, 0):
            return None
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"the converter ended with code {self._child.returncode}"


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
    if reason is not None and reason.get("why") != "on_demand":
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


def child_environment() -> dict[str, str]:
    """The parent's environment, able to import this very stepscope and free of what is meant for training."""
    env = {k: v for k, v in os.environ.items() if k not in _NOT_FOR_CHILD}
    env["OMP_NUM_THREADS"] = "1"
    root = str(Path(__file__).resolve().parent.parent)
    installed = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.getusersitepackages()]
    if root not in (str(Path(p).resolve()) for p in installed):  # there it would hide the standard library
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [env.get("PYTHONPATH"), root]))
    return env


def main(argv: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    if len(arguments) not in (2, 3):
        print("usage: python -m stepscope.convert TRACE FOLDER [ABOUT]", file=sys.stderr)
        return 2
    try:
        os.nice(_NICENESS)
    except (OSError, AttributeError):  # a system without priorities
        pass
    try:
        convert(Path(arguments[0]), Path(arguments[1]), json.loads(arguments[2]) if arguments[2:] else None)
    except (StepscopeError, OSError, MemoryError) as error:
        print(str(error) or type(error).__name__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
