"""The hooks of all phases but the forward: input wait, backward, copies to the device, optimizer.

Each begins with ``if is_compiling(): return``, so that torch.compile traces it away instead of breaking
the graph. None lets an exception of ours out, and none changes what it is given. The hooks of a regular
step mark right here: see ``Loop``.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.data.dataloader import _BaseDataLoaderIter

from stepscope.marks import Key
from stepscope_torch.codes import (
    BACKWARD,
    BACKWARD_BEGIN,
    BACKWARD_END,
    H2D,
    INPUT_END,
    OPTIMIZER,
    optimizer_keys,
)
from stepscope_torch.entrance import is_compiling
from stepscope_torch.loop import Loop
from stepscope_torch.part import Failed, Part
from stepscope_torch.patches import Patch
from stepscope_torch.steps import INPUT_WAIT

#: Optimizers that mark by themselves; there are more of them only where one is made for each step, say.
_MAX_OPTIMIZERS = 16


class InputWait(Part):
    """The wait for the next batch of a DataLoader, with and without workers.

    ``fetch`` gets the next item of any iterator and counts that as a wait for a batch.
    """

    name = INPUT_WAIT
    loader: dict[str, int | None] | None = None  # what the first DataLoader says of itself
    fetch: Callable[[Any], Any] = staticmethod(next)

    def install(self) -> None:
        self.fetch = self._wrap(next)
        self.patches = [Patch(_BaseDataLoaderIter, "__next__", self._wrap)]

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        loop = self.loop
        recorder, tracker = loop.recorder, loop.tracker
        next_step, end = loop.marks.next_step, loop.marks.end

        def __next__(iterator: Any) -> Any:
            if is_compiling():
                return original(iterator)
            number = next_step()
            if number:
                tracker.number = recorder.step = number
            elif not self._begin():
                return original(iterator)
            try:
                batch = original(iterator)
            except BaseException as error:
                self._end(not isinstance(error, StopIteration))
                raise
            if not end(INPUT_END):
                self._end(True)
                if self.loader is None:
                    self._look(iterator)
            return batch

        return __next__

    def _begin(self) -> bool:
        """False where it is not the training loop's."""
        if not self.live or get_ident() != self.loop.loader_thread:
            return False
        try:
            self.loop.input_begin()
        except Exception as error:
            self.fail(error)
        return True

    def _look(self, iterator: Any) -> None:
        sampler = getattr(iterator, "_index_sampler", None)
        told = {"workers": getattr(iterator, "_num_workers", None), "batch_size": getattr(sampler, "batch_size", None)}
        self.loader = {name: value if isinstance(value, int) else None for name, value in told.items()}

    def _end(self, got_batch: bool) -> None:
        try:
            if self.live:
                self.loop.input_end(got_batch)
        except Exception as error:
            self.fail(error)


class Backward(Part):
    """``Tensor.backward`` calls ``torch.autograd.backward`` through the module, so one patch sees both.

    Full backward hooks would break models with in-place operations, and cost a factor of two on small ones.
    """

    name = BACKWARD

    def install(self) -> None:
        self.patches = [Patch(torch.autograd, name, self._wrap) for name in ("backward", "grad")]

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        begin, end = self.loop.marks.begin, self.loop.marks.end

        def backward(*args: Any, **kwargs: Any) -> Any:
            if is_compiling() or not (begin(BACKWARD_BEGIN) or self._begin()):
                return original(*args, **kwargs)
            try:
                return original(*args, **kwargs)
            finally:
                if not end(BACKWARD_END):
                    self._end()

        return backward

    def _begin(self) -> bool:
        if self.live:
            try:
                return self.loop.backward_begin()
            except Exception as error:
                self.fail(error)
        return False

    def _end(self) -> None:
        if self.live:
            try:
                self.loop.backward_end()
            except Exception as error:
                self.fail(error)


class HostToDevice(Part):
    """Copies from the host to an accelerator, as the host sees them: without waiting, that is the launch."""

    name = H2D

    def __init__(self, loop: Loop, failed: Failed, device_types: frozenset[str]) -> None:
        super().__init__(loop, failed)
        self.device_types = device_types

    def install(self) -> None:
        self.patches = [Patch(torch.Tensor, "to", self._wrap), Patch(torch.Tensor, "cuda", self._wrap)]

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def copy(*args: Any, **kwargs: Any) -> Any:
            if is_compiling() or not self.live or not self._begin(args, kwargs):
                return original(*args, **kwargs)
            try:
                return original(*args, **kwargs)
            finally:
                self._end()

        return copy

    def _begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        try:
            return args[0].is_cpu and self._goes_to_device(args[1:], kwargs) and self.loop.h2d_begin()
        except Exception as error:
            self.fail(error)
            return False

    def _goes_to_device(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        if not args and not kwargs:
            return True  # cuda()
        target = kwargs.get("device", args[0] if args else kwargs.get("other"))
        if isinstance(target, torch.device):
            return target.type in self.device_types
        if isinstance(target, str):
            return target.partition(":")[0] in self.device_types
        if isinstance(target, torch.Tensor):
            return target.device.type in self.device_types
        return isinstance(target, int) and not isinstance(target, bool)  # else to(dtype)

    def _end(self) -> None:
        try:
            self.loop.h2d_end()
        except Exception as error:
            self.fail(error)


class OptimizerStep(Part):
    """Every optimizer's step, through torch's global hooks, and GradScaler's around it.

    A GradScaler may skip its optimizer; the step of the loop has ended nevertheless.
    """

    name = OPTIMIZER

    def __init__(self, loop: Loop, failed: Failed, only: list[torch.optim.Optimizer] | None) -> None:
        super().__init__(loop, failed)
        self.only = only
        self._keys: dict[torch.optim.Optimizer, tuple[Key, Key]] = {}  # of those that step in the training thread
        self._mark_begin, self._mark_end = loop.marks.begin, loop.marks.end_step

    def install(self) -> None:
        self.handles = [
            register_optimizer_step_pre_hook(self._begin),
            register_optimizer_step_post_hook(self._end),
        ]
        scaler = getattr(torch.amp, "GradScaler", None)
        if scaler is not None:
            self.patches = [Patch(scaler, "step", self._wrap_scaler)]

    def _counts(self, optimizer: Any) -> bool:
        return self.only is None or any(optimizer is one for one in self.only)

    def _begin(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if is_compiling():
            return
        keys = self._keys.get(optimizer)
        if keys is not None and self._mark_begin(keys[0]):
            return
        if self.live:
            try:
                self.loop.optimizer_begin(optimizer)
                if keys is None and len(self._keys) < _MAX_OPTIMIZERS and get_ident() == self.loop.thread:
                    self._keys[optimizer] = optimizer_keys(optimizer)
            except Exception as error:
                self.fail(error)

    def _end(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if is_compiling():
            return
        keys = self._keys.get(optimizer) if self.only is None else None
        if keys is not None and self._mark_end(keys[1]):
            return
        if self.live:
            try:
                self.loop.optimizer_end(optimizer, self._counts(optimizer))
            except Exception as error:
                self.fail(error)

    def _wrap_scaler(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling() or not self.live:
                return original(scaler, optimizer, *args, **kwargs)
            self._begin_scaler(scaler)
            try:
                return original(scaler, optimizer, *args, **kwargs)
            finally:
                self._end_scaler(scaler, optimizer)

        return step

    def _begin_scaler(self, scaler: Any) -> None:
        try:
            self.loop.optimizer_begin(scaler)
        except Exception as error:
            self.fail(error)

    def _end_scaler(self, scaler: Any, optimizer: Any) -> None:
        try:
            if self.live:
                self.loop.optimizer_end(scaler, self._counts(optimizer))
        except Exception as error:
            self.fail(error)
