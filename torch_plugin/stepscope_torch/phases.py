"""The hooks: five kinds, each of which can fail and be switched off by itself.

Each begins with ``if is_compiling(): return``, so that torch.compile traces it away instead of breaking
the graph. None lets an exception of ours out, and none changes what it is given. The hooks of a regular
step append their marks right here: see ``Loop``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns
from typing import Any

import torch
from torch.nn.modules import module as nn_module
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.data.dataloader import _BaseDataLoaderIter

from stepscope_torch.loop import (
    BACKWARD,
    BACKWARD_BEGIN,
    BACKWARD_END,
    FORWARD,
    FORWARD_BEGIN,
    FORWARD_END,
    H2D,
    INPUT_END,
    MAX_ENTRIES,
    OPTIMIZER,
    OPTIMIZER_BEGIN,
    OPTIMIZER_END,
    SAMPLED,
    SLOW,
    Loop,
)
from stepscope_torch.patches import Patch
from stepscope_torch.steps import INPUT_WAIT

# Dynamo takes it for True and drops what follows; it costs 27 ns, torch.compiler.is_compiling 75.
is_compiling = torch.compiler.is_dynamo_compiling
is_grad_enabled = torch.is_grad_enabled

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

    def fail(self, error: Exception) -> None:
        # What it installed stays, inert: taking it out in the middle of a call can break the caller's iteration.
        self.live = False
        self.loop.lose_hook()
        self._failed(self.name, error)


class InputWait(Part):
    """The wait for the next batch of a DataLoader, with and without workers."""

    name = INPUT_WAIT

    def install(self) -> None:
        self.patches = [Patch(_BaseDataLoaderIter, "__next__", self._wrap)]

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        loop = self.loop

        def __next__(iterator: Any) -> Any:
            if is_compiling() or not self.live or get_ident() != loop.loader_thread:
                return original(iterator)
            try:
                loop.input_begin()
            except Exception as error:
                self.fail(error)
            try:
                batch = original(iterator)
            except BaseException as error:
                self._end(not isinstance(error, StopIteration))
                raise
            mode = loop.mode
            if mode:
                now = perf_counter_ns()
                loop.marks += (INPUT_END, now, None)
                if mode == SAMPLED:
                    loop.sample_ns += perf_counter_ns() - now
            else:
                self._end(True)
            return batch

        return __next__

    def _end(self, got_batch: bool) -> None:
        try:
            if self.live:
                self.loop.input_end(got_batch)
        except Exception as error:
            self.fail(error)


class _ForwardHook:
    """A hook on one module. A copy or a pickle of the module gets a function of the standard library instead,
    which takes any arguments and does nothing: an averaged copy of the model is not the model that trains,
    and a saved model must load where stepscope is not installed.
    """

    __slots__ = ("loop", "part")

    def __init__(self, part: Forward) -> None:
        self.part = part
        self.loop = part.loop

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (contextlib.nullcontext, "__exit__")


class _ForwardBegin(_ForwardHook):
    __slots__ = ()

    def __call__(self, module: torch.nn.Module, args: Any) -> None:
        if is_compiling():
            return
        loop = self.loop
        mode = loop.mode
        if mode and get_ident() == loop.thread and is_grad_enabled() and module.training:
            now = perf_counter_ns()
            loop.marks += (FORWARD_BEGIN, now, module)
            if mode == SAMPLED:
                loop.sample_ns += perf_counter_ns() - now
        else:
            self.part.begin(module)


class _ForwardEnd(_ForwardHook):
    __slots__ = ()

    def __call__(self, module: torch.nn.Module, args: Any, output: Any) -> None:
        if is_compiling():
            return
        loop = self.loop
        mode = loop.mode
        if mode and get_ident() == loop.thread and len(loop.marks) < MAX_ENTRIES:
            now = perf_counter_ns()
            loop.marks += (FORWARD_END, now, module)
            if mode == SAMPLED:
                loop.sample_ns += perf_counter_ns() - now
        else:
            self.part.end(module)


class Forward(Part):
    """The outermost modules' forward.

    Hooks on every module of the process would double what they cost, so they are used for one step only,
    to find the outermost modules where ``model`` was not given or turns out not to be what is called.
    """

    name = FORWARD

    def __init__(
        self, loop: Loop, failed: Failed, model: torch.nn.Module | None, not_found: Callable[[], None]
    ) -> None:
        super().__init__(loop, failed)
        self.model = model
        self._not_found = not_found
        self._found: list[torch.nn.Module] = []
        self._global_handles: list[Any] = []
        self._compiled: list[tuple[torch.nn.Module, Callable[..., Any]]] = []
        self._steps_before = 0

    def install(self) -> None:
        if self.model is None:
            self._search()
        else:
            self._hook(self.model)
        self.loop.after_segment.append(self._look)

    def remove(self) -> None:
        self._end_search()
        super().remove()
        for module, wrapped in self._compiled:
            if vars(module).get("_compiled_call_impl") is wrapped:
                module._compiled_call_impl = wrapped.__wrapped__

    def _look(self) -> bool:
        """After each segment, until the first complete step: was a forward seen in it?"""
        tracker = self.loop.tracker
        if tracker.steps == self._steps_before or not self.live:
            return self.live
        self._steps_before = tracker.steps
        try:
            if self._global_handles:
                found = self._end_search()
                for module in found:
                    self._hook(module)
                if not found:
                    self._not_found()
            elif FORWARD not in tracker.phases_seen and self.model is not None:
                if getattr(self.model, "_compiled_call_impl", None) is not None and not self._compiled:
                    self._wrap_compiled(self.model)  # compiled in place after it was given to us
                    return False
                self._search()  # what the loop calls is a wrapper around it
                return True
        except Exception as error:
            self.fail(error)
        return False

    def _hook(self, module: torch.nn.Module) -> None:
        # First of all, so that what FSDP's own hook does before a forward (gathering) is part of it.
        self.handles.append(module.register_forward_pre_hook(_ForwardBegin(self), prepend=True))
        self.handles.append(module.register_forward_hook(_ForwardEnd(self), always_call=True))
        if getattr(module, "_compiled_call_impl", None) is not None:
            self._wrap_compiled(module)

    def _wrap_compiled(self, module: torch.nn.Module) -> None:
        """``module.compile()`` compiles its hooks too, that is, takes them out; its entrance is outside."""
        original: Any = module._compiled_call_impl
        begin, end = _ForwardBegin(self), _ForwardEnd(self)

        def call(*args: Any, **kwargs: Any) -> Any:
            begin(module, args)
            try:
                return original(*args, **kwargs)
            finally:
                end(module, args, None)

        call.__wrapped__ = original  # type: ignore[attr-defined]
        module._compiled_call_impl = call
        self._compiled.append((module, call))

    def _search(self) -> None:
        self._global_handles = [
            nn_module.register_module_forward_pre_hook(self._search_begin),
            nn_module.register_module_forward_hook(self._search_end, always_call=True),
        ]

    def _end_search(self) -> list[torch.nn.Module]:
        for handle in self._global_handles:
            handle.remove()
        self._global_handles = []
        found, self._found = self._found, []
        return found

    def _search_begin(self, module: torch.nn.Module, args: Any) -> None:
        if is_compiling() or not self.live:
            return
        try:
            if module is self.model:
                return  # its own hooks do it
            if self.loop.takes_forward():
                if next(module.parameters(), None) is None:
                    return  # a loss: what it computes is no forward of the model
                if not any(module is other for other in self._found):
                    self._found.append(module)
        except Exception as error:
            self.fail(error)
        self.begin(module)

    def _search_end(self, module: torch.nn.Module, args: Any, output: Any) -> None:
        if not is_compiling() and module is not self.model:
            self.end(module)

    def begin(self, module: torch.nn.Module) -> None:
        if self.live:
            try:
                self.loop.forward_begin(module)
            except Exception as error:
                self.fail(error)

    def end(self, module: torch.nn.Module) -> None:
        if self.live:
            try:
                self.loop.forward_end(module)
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
        loop = self.loop

        def backward(*args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return original(*args, **kwargs)
            if loop.mode and get_ident() == loop.thread:
                loop.marks += (BACKWARD_BEGIN, perf_counter_ns(), None)
            elif not self._begin():
                return original(*args, **kwargs)
            try:
                return original(*args, **kwargs)
            finally:
                mode = loop.mode
                if mode:
                    now = perf_counter_ns()
                    loop.marks += (BACKWARD_END, now, None)
                    if mode == SAMPLED:  # the begin is taken to cost what the end does
                        loop.sample_ns += 2 * (perf_counter_ns() - now)
                else:
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
        loop = self.loop
        mode = loop.mode
        if mode and get_ident() == loop.thread:
            now = perf_counter_ns()
            loop.marks += (OPTIMIZER_BEGIN, now, optimizer)
            if mode == SAMPLED:
                loop.sample_ns += perf_counter_ns() - now
        elif self.live:
            try:
                loop.optimizer_begin(optimizer)
            except Exception as error:
                self.fail(error)

    def _end(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if is_compiling():
            return
        loop = self.loop
        mode = loop.mode
        if mode and self.only is None and get_ident() == loop.thread:
            now = perf_counter_ns()
            loop.marks += (OPTIMIZER_END, now, optimizer)
            loop.at_once = True
            loop.mode = SLOW
            if mode == SAMPLED:
                loop.sample_ns += perf_counter_ns() - now
        elif self.live:
            try:
                loop.optimizer_end(optimizer, self._counts(optimizer))
            except Exception as error:
                self.fail(error)

    def _wrap_scaler(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling() or not self.live:
                return original(scaler, optimizer, *args, **kwargs)
            token = object()
            self._begin(token, None, None)
            try:
                return original(scaler, optimizer, *args, **kwargs)
            finally:
                self._end_scaler(token, optimizer)

        return step

    def _end_scaler(self, token: object, optimizer: Any) -> None:
        try:
            if self.live:
                self.loop.optimizer_end(token, self._counts(optimizer))
        except Exception as error:
            self.fail(error)
