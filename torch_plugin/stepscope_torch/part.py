"""What all hooks share: they can fail and be switched off one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stepscope_torch.loop import Loop
from stepscope_torch.patches import Patch

Failed = Callable[[str, Exception], None]


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
        for handle in self.handles:
            handle.remove()
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
