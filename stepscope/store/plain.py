"""Values of a script as JSON can hold them: what a user gives as metadata must not stop a recording."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_MAX_TEXT = 1000
_MAX_ENTRIES = 200
_MAX_DEPTH = 4


def plain(value: Any, depth: int = _MAX_DEPTH) -> Any:
    """The value as plain data; what JSON does not know becomes its text. Long texts and lists are cut."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping) and depth:
        return {_text(k): plain(v, depth - 1) for k, v in list(value.items())[:_MAX_ENTRIES]}
    if isinstance(value, (list, tuple)) and depth:
        return [plain(v, depth - 1) for v in value[:_MAX_ENTRIES]]
    return _text(value)


def _text(value: Any) -> str:
    try:
        text = str(value)
    except Exception:
        text = f"({type(value).__name__} without a text)"
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 3] + "..."
