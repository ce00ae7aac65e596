"""Runs code of ours around a module's call, without a hook of torch's.

A module with hooks leaves the short path of ``Module.__call__``: two that do nothing cost 1.5 us where this costs
0.5 us and records (three times that in a real step, whose caches are cold). The place is the one that
``Module.compile`` uses, which calls of the module look at first; what FSDP and others hook runs inside.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn

# The first statement of each hook: dynamo takes it for True and drops what follows, instead of breaking the graph.
# It costs 27 ns, torch.compiler.is_compiling 75.
is_compiling = torch.compiler.is_dynamo_compiling

_PLACE = "_compiled_call_impl"


class _Ours(partial):
    """Copies and pickles of the module get None instead: an averaged copy of the model is not the model that trains,
    and a saved one must load where stepscope is not installed. A partial object costs as little as a function."""

    original: Any
    removed = False

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()


class Entrance:
    """Calls of ``module`` go through ``make(original)`` until ``remove``; so do those of code compiled in place."""

    def __init__(self, module: nn.Module, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        self.module = module
        original = vars(module).get(_PLACE)
        self._ours = _Ours(make(original or module._call_impl))
        self._ours.original = original
        vars(module)[_PLACE] = self._ours

    @property
    def stands(self) -> bool:
        """False once somebody else took the place: ``Module.compile``, say."""
        place = vars(self.module).get(_PLACE)
        while isinstance(place, _Ours) and place is not self._ours:
            place = place.original
        return place is self._ours

    def remove(self) -> None:
        """Where another entrance was made around this one, this goes with that one; until then it must do nothing."""
        self._ours.removed = True
        place = vars(self.module).get(_PLACE)
        while isinstance(place, _Ours) and place.removed:
            place = place.original
        if place is None:
            vars(self.module).pop(_PLACE, None)
        else:
            vars(self.module)[_PLACE] = place


def is_compiled(module: nn.Module) -> bool:
    """Whether torch.compile made this module, or compiled it in place: no call inside it can be seen."""
    place = vars(module).get(_PLACE)
    while isinstance(place, _Ours):
        place = place.original
    return place is not None or "_orig_mod" in module._modules
