"""Loaders that are none of torch's: what ``Profiler.wrap_loader`` puts around them, so that waits for them count."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

#: Gives what fetches from an iterator and records the wait, or None while nothing records.
CurrentWait = Callable[[], "Callable[[Any], Any] | None"]


class WaitedFor:
    """Stands for ``loader``: what is read from it, set on it or asked of it is the loader's own."""

    __slots__ = ("_loader", "_wait")

    def __init__(self, loader: Any, wait: CurrentWait) -> None:
        object.__setattr__(self, "_loader", loader)
        object.__setattr__(self, "_wait", wait)

    def __iter__(self) -> Iterator[Any]:
        return _Batches(iter(self._loader), self._wait)

    def __next__(self) -> Any:  # for a loader that is an iterator
        return next(_Batches(self._loader, self._wait))

    def __len__(self) -> int:
        return len(self._loader)

    def __bool__(self) -> bool:
        return bool(self._loader)

    def __getitem__(self, index: Any) -> Any:
        return self._loader[index]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._loader, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self._loader,)  # in another process nothing waits for it


class _Batches:
    __slots__ = ("_iterator", "_wait")

    def __init__(self, iterator: Iterator[Any], wait: CurrentWait) -> None:
        self._iterator = iterator
        self._wait = wait

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        wait = self._wait()
        return next(self._iterator) if wait is None else wait(self._iterator)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)


def _itself(loader: Any) -> Any:
    return loader
