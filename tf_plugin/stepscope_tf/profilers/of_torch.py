"""``torch.profiler`` as a ``stepscope_tf.profilers.Profiler``, for Keras on PyTorch.

A ``record_function`` that was entered in one session and is left in a later one reads memory that is freed: regions
that are open when ours ends are closed with it. Not verified on a GPU.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from threading import get_ident
from typing import Any

log = logging.getLogger("stepscope")


class TorchProfiler:
    """``torch.profiler``; ``before_rival`` is called before the script starts a session while this one runs."""

    suffix = ".pt.trace.json"

    def __init__(self, before_rival: Callable[[], None]) -> None:
        import torch

        self._torch = torch
        self._before_rival = before_rival
        self._profile: Any = None
        self._logdir = Path()
        self._thread = 0
        self._is_own = False  # ours starts right now
        self._regions: weakref.WeakSet[Any] = weakref.WeakSet()  # entered during the session, and not left yet
        self._patched: list[tuple[Any, str, Any, Any]] = []  # holder, name, its function, ours in its place

    def start(self, logdir: Path) -> bool:
        if self._torch.autograd.profiler._is_profiler_enabled:
            return False
        profiler = self._torch.profiler
        activities = [a for a in profiler.supported_activities() if a.name in ("CPU", "CUDA", "XPU")]
        self._logdir = logdir
        self._thread = get_ident()
        self._watch()
        self._is_own = True
        try:
            self._profile = profiler.profile(activities=activities)
            self._profile.start()
        except Exception:
            self._unwatch()
            raise
        finally:
            self._is_own = False
        return True

    def stop(self, save: bool) -> bool:
        self._unwatch()
        profile, self._profile = self._profile, None
        if profile is None or get_ident() != self._thread:  # a session ends in the thread in which it began
            return False
        for region in list(self._regions):
            region.__exit__(None, None, None)  # leaving it once more, later, does nothing
        runs = self._torch.autograd.profiler._is_profiler_enabled
        profile.stop()
        if runs and save:
            self._logdir.mkdir(parents=True)
            profile.export_chrome_trace(str(self._logdir / f"window{self.suffix}"))
        return bool(runs)

    def step(self, number: int) -> AbstractContextManager[Any]:
        return self.scope(f"ProfilerStep#{number}")

    def scope(self, name: str) -> AbstractContextManager[Any]:
        scope: AbstractContextManager[Any] = self._torch.profiler.record_function(name)
        return scope

    def _watch(self) -> None:
        profiler = self._torch.autograd.profiler
        prepare = profiler.profile._prepare_trace
        enter, leave = profiler.record_function.__enter__, profiler.record_function.__exit__

        def _prepare_trace(profile: Any) -> Any:
            if not self._is_own:
                try:
                    self._before_rival()
                except Exception:  # theirs starts, whatever becomes of ours
                    log.debug("the deep window could not be closed", exc_info=True)
            return prepare(profile)

        def __enter__(region: Any) -> Any:
            entered = enter(region)
            if get_ident() == self._thread:
                self._regions.add(region)
            return entered

        def __exit__(region: Any, *exc: Any) -> Any:
            self._regions.discard(region)
            return leave(region, *exc)

        for holder, name, original, ours in (
            (profiler.profile, "_prepare_trace", prepare, _prepare_trace),
            (profiler.record_function, "__enter__", enter, __enter__),
            (profiler.record_function, "__exit__", leave, __exit__),
        ):
            setattr(holder, name, ours)
            self._patched.append((holder, name, original, ours))

    def _unwatch(self) -> None:
        patched, self._patched = self._patched, []
        for holder, name, original, ours in patched:
            if getattr(holder, name) is ours:  # else somebody put theirs on top, which calls ours: harmless
                setattr(holder, name, original)
