"""Sessions of torch's profiler in this process: ours, and those of the script, which come first.

Two traps, both found by running into them. Two profilers at once raise nothing, and leave both without
events. And a ``record_function`` that was entered in one session and is left in a later one reads memory
that is freed: the process dies. So regions that are open when our session ends are closed with it, and
ours waits until those of the script's sessions are closed.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

import torch
from torch.autograd.profiler import profile, record_function

from stepscope_torch.patches import Patch


class Sessions:
    """Watches for profilers that the script starts, and for regions that outlive a session.

    ``torch.profiler.profile`` and ``torch.autograd.profiler.profile`` both pass through the latter's
    ``_prepare_trace`` and ``__exit__``, also those made before this began to watch.
    """

    def __init__(self) -> None:
        #: Called before a profiler of the script starts; must not raise.
        self.before_start: Callable[[], None] | None = None
        self._running: weakref.WeakSet[Any] = weakref.WeakSet()  # profilers of the script
        self._regions: weakref.WeakSet[Any] = weakref.WeakSet()  # entered during a session, and not left yet
        self._own_thread = 0  # the thread in which our own profiler starts or stops right now
        self._own_runs = False
        self._patches: list[Patch] = []
        self._region_patches: list[Patch] = []

    def install(self) -> None:
        if hasattr(profile, "_prepare_trace"):
            self._patches = [
                Patch(profile, "_prepare_trace", self._wrap_prepare),
                Patch(profile, "__exit__", self._wrap_exit),
            ]

    def remove(self) -> None:
        self.before_start = None
        for patch in self._patches:
            patch.remove()
        self._stop_watching_regions()

    @contextmanager
    def own(self) -> Iterator[None]:
        """While our own profiler starts or stops."""
        self._own_thread = get_ident()
        try:
            yield
        finally:
            self._own_thread = 0

    def in_the_way(self) -> str | None:
        """Why ours cannot start now, or None. A profiler that warms up counts: torch's own flag does not say so."""
        if self._running or torch.autograd.profiler._is_profiler_enabled:
            return "the script's own profiler was running"
        if self._regions:
            return "a region that the script's own profiler recorded was still open"
        return None

    # -- what the patched functions do -----------------------------------------------------------------

    def _wrap_prepare(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def _prepare_trace(profiler: Any) -> Any:
            try:
                if self._own_thread == get_ident():
                    self._own_runs = True
                elif self.before_start is not None:
                    self._running.add(profiler)
                    self.before_start()
                self._watch_regions()
            except Exception:  # it starts, whatever becomes of our book-keeping
                pass
            return original(profiler)

        return _prepare_trace

    def _wrap_exit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __exit__(profiler: Any, *exc: Any) -> Any:
            try:
                if self._own_thread == get_ident():
                    self._own_runs = False
                    for region in list(self._regions):
                        region.__exit__(None, None, None)  # leaving it once more, later, does nothing
                self._running.discard(profiler)
                self._maybe_stop_watching()
            except Exception:
                pass
            return original(profiler, *exc)

        return __exit__

    def _watch_regions(self) -> None:
        if self._region_patches:
            return
        thread = get_ident()  # other threads are in no session

        def wrap_enter(original: Callable[..., Any]) -> Callable[..., Any]:
            def __enter__(region: Any) -> Any:
                entered = original(region)
                if get_ident() == thread and (self._own_runs or self._running):
                    self._regions.add(region)
                return entered

            return __enter__

        def wrap_exit(original: Callable[..., Any]) -> Callable[..., Any]:
            def __exit__(region: Any, *exc: Any) -> Any:
                self._regions.discard(region)
                self._maybe_stop_watching()
                return original(region, *exc)

            return __exit__

        self._region_patches = [
            Patch(record_function, "__enter__", wrap_enter),
            Patch(record_function, "__exit__", wrap_exit),
        ]

    def _maybe_stop_watching(self) -> None:
        if not (self._own_runs or self._running or self._regions):
            self._stop_watching_regions()

    def _stop_watching_regions(self) -> None:
        for patch in self._region_patches:
            patch.remove()
        self._region_patches = []
