"""The forward phase: around the calls of the outermost modules that the loop calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.modules import module as nn_module

from stepscope_torch.codes import FORWARD, forward_keys
from stepscope_torch.entrance import Entrance, is_compiling
from stepscope_torch.loop import Loop
from stepscope_torch.part import Failed, Part

is_grad_enabled = torch.is_grad_enabled


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
        self._beginning: torch.nn.Module | None = None  # whose hook runs right now
        self._last: torch.nn.Module | None = None  # whose call is still open when the search ends
        self._entrances: list[Entrance] = []
        self._steps_before = 0

    def install(self) -> None:
        if self.model is None:
            self._search()
        else:
            self._enter(self.model)
        self.loop.after_segment.append(self._look)
        self.loop.checks.append(self._enter_again)

    def remove(self) -> None:
        self._remove_hooks()
        super().remove()
        for entrance in self._entrances:
            entrance.remove()
        self._entrances = []

    @property
    def modules(self) -> list[torch.nn.Module]:
        """The outermost modules, as far as they are known."""
        return [entrance.module for entrance in self._entrances]

    def _look(self) -> bool:
        """After each segment, until the first complete step: was a forward seen in it?"""
        tracker = self.loop.tracker
        if tracker.steps == self._steps_before or not self.live:
            return self.live
        if self._is_ending:
            self._remove_hooks()
            return False
        self._steps_before = tracker.steps
        try:
            if self._global_handles:
                self._last = self._beginning
                found = self._end_search()
                for module in found:
                    self._enter(module)
                if not found:
                    self._not_found()
                return self._is_ending
            if FORWARD not in tracker.phases_seen and not self._enter_again():
                self._search()  # what the loop calls is a wrapper around it
                return True
        except Exception as error:
            self.fail(error)
        return False

    def _enter(self, module: torch.nn.Module) -> None:
        self._entrances.append(Entrance(module, lambda original: self._wrap(module, original)))

    def _enter_again(self) -> bool:
        """Where ``module.compile()`` has taken our place, go around it. Returns whether it has."""
        lost = [entrance for entrance in self._entrances if not entrance.stands]
        for entrance in lost:
            self._entrances.remove(entrance)
            self._enter(entrance.module)
        return bool(lost)

    def stand_outside(self) -> None:
        """Go around what else stands at the modules by now, the scopes of a deep window.

        Without a loader the call of the model begins the step: a scope around it would be open when the marker begins.
        """
        try:
            entrances, self._entrances = self._entrances, []
            for entrance in entrances:
                entrance.remove()
                self._enter(entrance.module)
        except Exception as error:
            self.fail(error)

    def _wrap(self, module: torch.nn.Module, original: Callable[..., Any]) -> Callable[..., Any]:
        mark_begin, mark_end = self.loop.marks.begin, self.loop.marks.end
        begin_key, end_key = forward_keys(module)

        def call(*args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return original(*args, **kwargs)
            if not (is_grad_enabled() and module.training and mark_begin(begin_key)) and not self.begin(module):
                return original(*args, **kwargs)
            try:
                return original(*args, **kwargs)
            finally:
                if not mark_end(end_key):
                    self.end(module)

        return call

    def _search(self) -> None:
        self._global_handles = [
            nn_module.register_module_forward_pre_hook(self._search_begin),
            nn_module.register_module_forward_hook(self._search_end, always_call=True),
        ]

    def _end_search(self) -> list[torch.nn.Module]:
        """What was found. Where the call of a module has just ended the step, the hook of its end stays for it."""
        if self._last is None:
            self._remove_hooks()
        else:
            self.take_out([self._global_handles.pop(0)])
        found, self._found = self._found, []
        return found

    def _remove_hooks(self) -> None:
        self.take_out(self._global_handles)
        self._global_handles = []
        self._last = None

    @property
    def _is_ending(self) -> bool:
        """Whether the search is over but for the end of a call."""
        return len(self._global_handles) == 1

    def _search_begin(self, module: torch.nn.Module, args: Any) -> None:
        if is_compiling() or not self.live:
            return
        try:
            if module is self.model:
                return  # it has an entrance
            if self.loop.takes_forward():
                if next(module.parameters(), None) is None:
                    return  # a loss: what it computes is no forward of the model
                if not any(module is other for other in self._found):
                    self._found.append(module)
        except Exception as error:
            self.fail(error)
        self._beginning = module
        self.begin(module)
        self._beginning = None

    def _search_end(self, module: torch.nn.Module, args: Any, output: Any) -> None:
        if is_compiling() or module is self.model or (self._is_ending and module is not self._last):
            return
        self._last = None
        self.end(module)

    def begin(self, module: torch.nn.Module) -> bool:
        """False where the call is not the training loop's."""
        if self.live:
            try:
                return self.loop.forward_begin(module)
            except Exception as error:
                self.fail(error)
        return False

    def end(self, module: torch.nn.Module) -> None:
        if self.live:
            try:
                self.loop.forward_end(module)
            except Exception as error:
                self.fail(error)
