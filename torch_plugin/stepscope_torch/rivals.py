"""Other users of torch's profiler in this process: there can be only one at a time, and theirs comes first.

Starting a second one raises nothing; it leaves both without events.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

import torch

from stepscope_torch.patches import Patch


class Rivals:
    """Watches for profilers that the script starts.

    ``torch.profiler.profile`` and ``torch.autograd.profiler.profile`` both pass through the latter's
    ``_prepare_trace`` and ``__exit__``, also those made before this began to watch.
    """

    def __init__(self) -> None:
        #: Called before a profiler of the script starts; must not raise.
        self.before_start: Callable[[], None] | None = None
        self._open: weakref.WeakSet[Any] = weakref.WeakSet()
        self._own_thread = 0  # the thread in which our own profiler starts or stops right now
        self._patches: list[Patch] = []

    def install(self) -> None:
        profile = torch.autograd.profiler.profile
        if hasattr(profile, "_prepare_trace"):
            self._patches = [
                Patch(profile, "_prepare_trace", self._wrap_prepare),
                Patch(profile, "__exit__", self._wrap_exit),
            ]

    def remove(self) -> None:
        self.before_start = None
        for patch in self._patches:
            patch.remove()

    @contextmanager
    def own(self) -> Iterator[None]:
        """While our own profiler starts or stops."""
        self._own_thread = get_ident()
        try:
            yield
        finally:
            self._own_thread = 0

    def active(self) -> str | None:
        """Why ours cannot start now, or None. A warming up profiler counts: torch's own flag does not say so."""
        if self._open or torch.autograd.profiler._is_profiler_enabled:
            return "the script's own profiler was running"
        return None

    def _wrap_prepare(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def _prepare_trace(profile: Any) -> Any:
            if self._own_thread != get_ident() and self.before_start is not None:
                try:
                    self.before_start()
                    self._open.add(profile)
                except Exception:  # theirs starts, whatever becomes of ours
                    pass
            return original(profile)

        return _prepare_trace

    def _wrap_exit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __exit__(profile: Any, *exc: Any) -> Any:
            self._open.discard(profile)
            return original(profile, *exc)

        return __exit__
