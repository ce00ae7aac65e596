"""Looks whether the loss is a number, without making the training wait for the device."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import torch

#: Losses on their way from the device at once; further ones are not looked at.
_MAX_WAITING = 64


class LossCheck:
    """Hands each loss to ``seen(value, step)`` as a float, that of a GPU some steps later."""

    def __init__(self, seen: Callable[[float, int], None]) -> None:
        self._seen = seen
        self._waiting: deque[tuple[Any, torch.Tensor, int]] = deque()  # event, pinned copy, step

    def check(self, value: Any, step: int) -> None:
        """``value``: a number or a tensor; of several elements the mean is taken."""
        self._collect()
        if not isinstance(value, torch.Tensor):
            self._seen(float(value), step)
            return
        value = value.detach()
        if not value.numel():
            return
        if value.numel() != 1:
            value = value.float().mean()
        if value.device.type == "cpu":
            self._seen(float(value), step)
        elif value.device.type == "cuda" and len(self._waiting) < _MAX_WAITING:
            self._fetch(value, step)

    def _fetch(self, value: torch.Tensor, step: int) -> None:
        if torch.cuda.is_current_stream_capturing():
            return
        copy = torch.empty((), dtype=value.dtype, pin_memory=True)
        copy.copy_(value.reshape(()), non_blocking=True)
        event = torch.cuda.Event()
        event.record()
        self._waiting.append((event, copy, step))

    def _collect(self) -> None:
        while self._waiting and self._waiting[0][0].query():
            _, copy, step = self._waiting.popleft()
            self._seen(float(copy), step)
