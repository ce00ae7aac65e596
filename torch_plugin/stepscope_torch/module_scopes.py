"""The modules of a model, and their calls as scopes of torch's own profiler, while a deep window is open.

Inside compiled code no call can be seen: what torch.compile made is one module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from threading import get_ident
from typing import Any

import torch
from torch import nn

from stepscope_torch.entrance import Entrance, is_compiled, is_compiling

#: What names of module scopes begin with, as torch's own profiler has it.
PREFIX = "nn.Module: "

Roots = Callable[[], list[nn.Module]]


def named(roots: Iterable[nn.Module]) -> Iterator[tuple[str, nn.Module]]:
    """Each module whose calls can be seen, once, with its place in the model; a root with its class."""
    seen: set[int] = set()

    def below(name: str, module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
        if id(module) in seen:
            return
        seen.add(id(module))
        yield name or type(module).__name__, module
        if not is_compiled(module) and not isinstance(module, torch.jit.ScriptModule):
            for child_name, child in module.named_children():
                yield from below(f"{name}.{child_name}" if name else child_name, child)

    for root in roots:
        yield from below("", root)


class ModuleScopes:
    """A scope of torch's own profiler around each call of each module, while a deep window is open.

    ``_RecordFunctionFast`` makes an operator of it, which the converter takes for the module that it is.

    Args:
        roots: the outermost modules.
        changed: called when scopes came or went, for who has to stand around them.
    """

    def __init__(self, roots: Roots, changed: Callable[[], None]) -> None:
        self._roots = roots
        self._changed = changed
        self._entrances: list[Entrance] = []
        self._open: list[Any] = []
        self._scope = getattr(torch._C._profiler, "_RecordFunctionFast", None)

    def enter(self) -> None:
        """The window is open; to be called on the training thread, like ``leave``."""
        if self._scope is not None:
            self._entrances = [Entrance(module, self._around(PREFIX + name)) for name, module in named(self._roots())]
            self._changed()

    def leave(self) -> None:
        """The window closes: a scope that is left in a later session of the profiler would kill the process."""
        while self._open:
            self._open.pop().__exit__(None, None, None)
        self.go_away()
        self._changed()

    def go_away(self) -> None:
        """No further scopes; those that are open end with their calls. In any thread."""
        for entrance in self._entrances:
            entrance.remove()
        self._entrances = []

    def _around(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        thread, opened, make_scope = get_ident(), self._open, self._scope
        assert make_scope is not None

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                if is_compiling() or get_ident() != thread or not self._entrances:
                    return original(*args, **kwargs)
                scope = make_scope(name)
                scope.__enter__()
                opened.append(scope)
                try:
                    return original(*args, **kwargs)
                finally:
                    if opened and opened[-1] is scope:
                        opened.pop().__exit__(None, None, None)

            return call

        return make
