"""Runs code of ours around a module's call, without a hook of torch's.

A module with hooks leaves the short path of ``Module.__call__``: two that do nothing cost 1.5 us where this costs
0.5 us and records (three times that in a real step, whose caches are cold). The place is the one that
``Module.compile`` uses, which calls of the module look at first; what FSDP and others hook runs inside.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import nn

_PLACE = "_compiled_call_impl"


class _Ours(partial):
    """Copies and pickles of the module get None instead: an averaged copy of the model is not the model that trains,
    and a saved one must load where stepscope is not installed. A partial object costs as little as a function."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()


class Entrance:
    """Calls of ``module`` go through ``make(original)`` until ``remove``; so do those of code compiled in place."""

    def __init__(self, module: nn.Module, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        self.module = module
        self._original = vars(module).get(_PLACE)
        self._ours = _Ours(make(self._original or module._call_impl))
        vars(module)[_PLACE] = self._ours

    @property
    def stands(self) -> bool:
        """False once somebody else took the place: ``Module.compile``, say."""
        return vars(self.module).get(_PLACE) is self._ours

    def remove(self) -> None:
        if not self.stands:
            return
        if self._original is None:
            del vars(self.module)[_PLACE]
        else:
            vars(self.module)[_PLACE] = self._original
