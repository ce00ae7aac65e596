"""What each number means, as the docstrings of the analyses tell: for docs/metrics.md and for the viewer's tooltips."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Any


def split(documented: Any) -> tuple[str, list[tuple[str, str]]]:
    """The text of a docstring before "Metrics:", and the entries after it as (name, meaning)."""
    text, _, listed = (inspect.getdoc(documented) or "").partition("Metrics:")
    text = re.split(r"\n(?:Args|Returns|Raises):", text)[0].strip()
    listed = re.sub(r"\n {8,}", " ", listed)  # continued lines
    return text, re.findall(r"^ {4}(\w+): (.*)$", listed, re.MULTILINE)


@cache
def meanings(documented: Any) -> dict[str, str]:
    """The meaning of each field, as a sentence."""
    return {
        name: f"{meaning[:1].upper()}{meaning[1:].rstrip('.')}.".replace("``", "")
        for name, meaning in split(documented)[1]
    }
