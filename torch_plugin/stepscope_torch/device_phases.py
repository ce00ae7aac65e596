"""How long the phases of a step take on a CUDA device: a pair of events on the current stream around each.

The host only records and queries events, and never waits for one. What another stream does meanwhile (the
collectives of DDP and FSDP, copies) shows as part of the phase that waits for it. Not verified on a GPU.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from stepscope.recorder import Row
from stepscope.schema import Kind
from stepscope_torch.codes import BACKWARD, FORWARD, OPTIMIZER
from stepscope_torch.entrance import Entrance, is_compiling
from stepscope_torch.loop import Loop
from stepscope_torch.module_scopes import Roots
from stepscope_torch.part import Failed, Part
from stepscope_torch.patches import Patch

#: Events at most; a phase takes two until the device has passed it. Phases without one are dropped and counted.
MAX_EVENTS = 512
_DEVICE_PHASE = int(Kind.DEVICE_ANNOTATION)
_LANE = 0  # the number of no thread


class Cuda:
    """What is asked of the device; tests put another one in its place."""

    @staticmethod
    def is_ready() -> bool:
        """Whether events can be recorded now: the training has initialised CUDA, and captures no graph."""
        return torch.cuda.is_initialized() and not torch.cuda.is_current_stream_capturing()

    @staticmethod
    def event() -> Any:
        return torch.cuda.Event(enable_timing=True)


class DevicePhases(Part):
    """Forward, backward and optimizer on the device, as rows of kind DEVICE_ANNOTATION of the always-on stream.

    A row begins where the device reached the phase: the first event is taken to have been reached at once, and
    the others follow by the device's own clock. ``args`` holds ``queue_ns``, how long after the host.
    """

    name = "device phases"

    def __init__(self, loop: Loop, failed: Failed, roots: Roots, device: Any = Cuda) -> None:
        super().__init__(loop, failed)
        self.device = device
        self.dropped = 0
        self._roots = roots
        self._entrances: list[Entrance] = []
        self._free: list[Any] = []
        self._made = 0
        self._open: tuple[str, int, Any] | None = None  # the outermost phase: name, host time and event of its begin
        self._waiting: deque[tuple[str, int, int, Any, Any]] = deque()  # name, step, host time, begin, end
        self._anchor: tuple[Any, float] | None = None  # an event, and when the device reached it

    def install(self) -> None:
        self.patches = [Patch(torch.autograd, "backward", self._around(BACKWARD))]
        self.handles = [
            register_optimizer_step_pre_hook(self._optimizer_begin),
            register_optimizer_step_post_hook(self._optimizer_end),
        ]
        self.loop.checks.append(self._enter)
        self.loop.recorder.meta["threads"][str(_LANE)] = "device phases"

    def remove(self) -> None:
        if self.live and self._waiting:
            self._collect()
            self.dropped += len(self._waiting)
            self._waiting.clear()
        super().remove()
        for entrance in self._entrances:
            entrance.remove()
        self._entrances = []
        if self.dropped:
            self.loop.recorder.note(
                "dropped_spans", "The device lagged too far behind to time these of its phases.", self.dropped
            )
            self.dropped = 0

    def _enter(self) -> None:
        """The modules are known after the first step; ``compile`` may put others in their place."""
        roots = self._roots()
        if self.live and [entrance.module for entrance in self._entrances if entrance.stands] != roots:
            for entrance in self._entrances:
                entrance.remove()
            self._entrances = [Entrance(module, self._around(FORWARD)) for module in roots]

    def _around(self, phase: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                if is_compiling() or not self._begin(phase):
                    return original(*args, **kwargs)
                try:
                    return original(*args, **kwargs)
                finally:
                    self._end()

            return call

        return make

    def _optimizer_begin(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if is_compiling():
            return
        if self._open is not None and self._open[0] == OPTIMIZER:  # an exception has passed its end by
            self._free.append(self._open[2])
            self._open = None
        self._begin(OPTIMIZER)

    def _optimizer_end(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not is_compiling() and self._open is not None and self._open[0] == OPTIMIZER:
            self._end()

    # -- events ----------------------------------------------------------------------------------------

    def _begin(self, phase: str) -> bool:
        """False where it is no phase of its own: inside another one, in another thread, in validation."""
        if not self.live or self._open is not None or get_ident() != self.loop.thread:
            return False
        try:
            if not torch.is_grad_enabled() or not self.device.is_ready():
                return False
            self._collect()
            if len(self._free) + MAX_EVENTS - self._made < 2:
                self.dropped += 1
                return False
            event = self._record()
            self._open = (phase, perf_counter_ns(), event)
            return True
        except Exception as error:
            self.fail(error)
            return False

    def _end(self) -> None:
        try:
            if self._open is not None and self.live:
                phase, host_ns, begin = self._open
                if self.device.is_ready():
                    self._waiting.append((phase, self.loop.tracker.number, host_ns, begin, self._record()))
                else:  # a capture began inside
                    self._free.append(begin)
        except Exception as error:
            self.fail(error)
        finally:
            self._open = None

    def _record(self) -> Any:
        if self._free:
            event = self._free.pop()
        else:
            event = self.device.event()
            self._made += 1
        event.record()
        return event

    def _collect(self) -> None:
        """Tell of the phases that the device has passed; the oldest first, so that one query is enough to stop."""
        waiting = self._waiting
        while waiting and waiting[0][4].query():
            phase, step, host_ns, begin, end = waiting.popleft()
            if self._anchor is None:
                start_ns = float(host_ns)
            else:
                event, reached_ns = self._anchor
                start_ns = reached_ns + event.elapsed_time(begin) * 1e6
                self._free.append(event)
            start_ns = max(start_ns, host_ns)  # never before it was asked to
            self._anchor = (begin, start_ns)
            start, dur = int(start_ns), int(begin.elapsed_time(end) * 1e6)
            self._free.append(end)
            row: Row = (_DEVICE_PHASE, phase, start, start + dur, step, {"queue_ns": start - host_ns})
            self.loop.recorder.fast_lane()((list, ([row],), _LANE))
