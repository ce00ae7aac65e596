"""Names a region of a training script: ``with annotate("augment"):`` or ``@annotate("augment")``.

While nothing records, a pair costs two attribute reads. While a deep window is open the region also
becomes a scope of the framework's own profiler, so it shows beside the operators and kernels it made.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from stepscope import recorder as _recorder
from stepscope.hot import extension
from stepscope.recorder import Recorder
from stepscope.schema import Kind

_ANNOTATION = int(Kind.ANNOTATION)

P = ParamSpec("P")
R = TypeVar("R")


class PythonRegion:
    """What ``annotate`` does as a context manager, where the extension was not built."""

    __slots__ = ("_open", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._open: list[tuple[int, Any, Recorder, int]] = []  # thread, scope, recorder, start_ns

    def __enter__(self) -> PythonRegion:
        recorder = _recorder.active
        if recorder is not None:
            scope = None if _recorder.mirror is None else _enter_mirror(self.name)
            self._open.append((get_ident(), scope, recorder, perf_counter_ns()))
        return self

    def __exit__(self, *exc: object) -> None:
        opened = self._open
        if not opened:
            return
        end_ns = perf_counter_ns()
        here = get_ident()
        try:
            entry = opened.pop()
            if opened or entry[0] != here:
                entry = self._take(entry, here)
        except (IndexError, ValueError):  # another thread has closed it meanwhile
            return
        thread, scope, recorder, start_ns = entry
        if scope is not None and thread == here:
            _exit_mirror(scope)
        recorder.span(_ANNOTATION, self.name, start_ns, end_ns, recorder.step)

    def _take(self, latest: tuple[int, Any, Recorder, int], here: int) -> tuple[int, Any, Recorder, int]:
        """One object may be open in several threads at once: close this thread's latest. A generator that is resumed
        by another thread leaves its region there: then the latest of all."""
        self._open.append(latest)
        entry = ([entry for entry in self._open if entry[0] == here] or list(self._open))[-1]
        self._open.remove(entry)
        return entry


def _enter_mirror(name: str) -> Any:
    try:
        scope = _recorder.mirror(name) if _recorder.mirror is not None else None
        if scope is not None:
            scope.__enter__()
    except Exception:  # the framework refused: the live span still has the region
        return None
    return scope


def _exit_mirror(scope: Any) -> None:
    try:
        scope.__exit__(None, None, None)
    except Exception:  # the window closed meanwhile
        pass


if TYPE_CHECKING or extension is None:
    _Region = PythonRegion
else:
    _Region = extension.Region
    extension.connect(vars(_recorder), _enter_mirror, _exit_mirror)


class annotate(_Region):
    """A named region; a context manager and a decorator. Nests, and may be used from any thread.

    Args:
        name: shown in the timeline; the statistics of all regions of one name are kept together.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def __init__(self, name: str) -> None: ...

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        name = self.name

        @functools.wraps(function)
        def annotated(*args: P.args, **kwargs: P.kwargs) -> R:
            if _recorder.active is None:
                return function(*args, **kwargs)
            with annotate(name):
                return function(*args, **kwargs)

        return annotated


class _Handle:
    """A region begun by ``annotation_begin``."""

    __slots__ = ("name", "recorder", "scope", "start_ns", "thread")

    def __init__(self, name: str, recorder: Recorder) -> None:
        self.name = name
        self.recorder = recorder
        self.thread = get_ident()
        self.scope = _enter_mirror(name)
        self.start_ns = perf_counter_ns()


def annotation_begin(name: str) -> Any:
    """Begin a region that ``annotation_end`` closes; the handle may cross functions and threads."""
    recorder = _recorder.active
    return None if recorder is None else _Handle(name, recorder)


def annotation_end(handle: Any) -> None:
    """Close the region of ``annotation_begin``; None, as it gives while nothing records, is welcome."""
    if handle is None:
        return
    end_ns = perf_counter_ns()
    if handle.scope is not None and handle.thread == get_ident():
        _exit_mirror(handle.scope)
    handle.recorder.span(_ANNOTATION, handle.name, handle.start_ns, end_ns, handle.recorder.step)
