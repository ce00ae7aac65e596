"""What all hooks share: they can fail and be switched off one by one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import get_ident
from typing import Any

from stepscope_torch.loop import Loop
from stepscope_torch.patches import Patch

Failed = Callable[[str, Exception], None]

_left: list[tuple[int, Any]] = []  # hooks of torch's that are to go, and the thread that they were made for


def take_out_left() -> None:
    """Remove the hooks that can be; those of a training that goes on in another thread stay until a later call.

    It may be going through its hooks right now, and would meet an error if these changed meanwhile.
    """
    for entry in list(_left):
        thread, handle = entry
        if thread == get_ident() or thread not in sys._current_frames():
            handle.remove()
            _left.remove(entry)


class Part:
    """One kind of hook. ``live`` is False once it failed or was removed: what is still called does nothing."""

    name = ""

    def __init__(self, loop: Loop, failed: Failed) -> None:
        self.loop = loop
        self.live = True
        self.patches: list[Patch] = []
        self.handles: list[Any] = []
        self._failed = failed

    def install(self) -> None:
        raise NotImplementedError

    def remove(self) -> None:
        self.live = False
        self.loop.lose_hook()
        for patch in self.patches:
            patch.remove()
        self.take_out(self.handles)
        self.handles = []

    def take_out(self, handles: list[Any]) -> None:
        """Remove hooks of torch's, which have to do nothing from now on; see ``take_out_left``."""
        _left.extend((self.loop.training_thread, handle) for handle in handles)
        take_out_left()

    def silence(self) -> None:
        """Do nothing from now on. For the middle of a hook, where what torch goes through must not change."""
        self.live = False
        self.loop.lose_hook()
        _left.extend((self.loop.training_thread, handle) for handle in self.handles)
        self.handles = []

    def shed(self) -> None:
        """Take it out for good, between two steps; they can be regular without it."""
        was_whole = self.loop.is_whole
        self.remove()
        self.loop.is_whole = was_whole

    def fail(self, error: Exception) -> None:
        # What it installed stays, inert: taking it out in the middle of a call can break the caller's iteration.
        self.live = False
        self.loop.lose_hook()
        self._failed(self.name, error)
