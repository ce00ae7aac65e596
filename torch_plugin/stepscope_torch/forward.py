"""The hook of the forward phase: on the outermost modules that the loop calls."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns
from typing import Any

import torch
from torch.nn.modules import module as nn_module

from stepscope_torch.loop import FORWARD, FORWARD_BEGIN, FORWARD_END, MAX_ENTRIES, SAMPLED, Loop
from stepscope_torch.part import Failed, Part, is_compiling

is_grad_enabled = torch.is_grad_enabled


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
