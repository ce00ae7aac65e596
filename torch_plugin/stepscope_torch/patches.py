"""Replaces an attribute of a class or a module and puts it back, without undoing what others did meanwhile."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class Patch:
    """``owner.name`` becomes ``make(original)`` until ``remove``.

    If somebody else has replaced it again by then, theirs stays, and ours stays below it: what ``make``
    returns must do nothing of its own once its maker is switched off.
    """

    def __init__(self, owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        self.owner = owner
        self.name = name
        self._was_inherited = name not in vars(owner)
        self._original = getattr(owner, name)
        self._ours = functools.wraps(self._original)(make(self._original))
        setattr(owner, name, self._ours)

    def remove(self) -> None:
        if vars(self.owner).get(self.name) is not self._ours:
            return
        if self._was_inherited:
            delattr(self.owner, self.name)
        else:
            setattr(self.owner, self.name, self._original)
