"""The parameters of a request, checked."""

from __future__ import annotations

from collections.abc import Mapping

from stepscope_tensorboard.answers import Problem

_INT64 = 1 << 63


class Parameters:
    """The query of a request. A parameter that is missing or wrong raises ``Problem`` 400."""

    def __init__(self, query: Mapping[str, str]) -> None:
        self._query = query

    def has(self, name: str) -> bool:
        return name in self._query

    def text(self, name: str) -> str:
        value = self._query.get(name)
        if value is None:
            raise Problem(400, f"The parameter {name} is missing.")
        return value

    def integer(self, name: str, default: int | None = None, least: int = -_INT64 + 1, most: int = _INT64 - 1) -> int:
        text = self._query.get(name)
        if text is None:
            if default is None:
                raise Problem(400, f"The parameter {name} is missing.")
            return default
        try:
            value = int(text)
        except ValueError:
            raise Problem(400, f"The parameter {name} must be an integer.") from None
        if not least <= value <= most:
            raise Problem(400, f"The parameter {name} must lie between {least} and {most}.")
        return value

    def optional_integer(self, name: str) -> int | None:
        return self.integer(name) if self.has(name) else None

    def integers(self, name: str) -> list[int]:
        """A list such as ``3,5,7``; empty text is the empty list."""
        text = self.text(name)
        try:
            values = [int(part) for part in text.split(",")] if text else []
        except ValueError:
            raise Problem(400, f"The parameter {name} must be integers with commas between them.") from None
        if not all(-_INT64 < value < _INT64 for value in values):
            raise Problem(400, f"The parameter {name} must hold integers of at most 64 bits.")
        return values

    def optional_integers(self, name: str) -> list[int] | None:
        return self.integers(name) if self.has(name) else None

    def flag(self, name: str) -> bool:
        """``1`` or ``0``, the default."""
        return self.integer(name, 0, least=0, most=1) == 1

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        value = self.text(name)
        if value not in allowed:
            raise Problem(400, f"The parameter {name} must be one of {', '.join(allowed)}.")
        return value
