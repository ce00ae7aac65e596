"""The C++ of what training code runs through in each step, where it was built; its results are those of the Python.

``STEPSCOPE_PURE_PYTHON=1`` in the environment switches it off.
"""

from __future__ import annotations

import importlib
import logging
import os
from pathlib import Path
from typing import Any

from stepscope.built_from import digest

log = logging.getLogger("stepscope")

SWITCH_VARIABLE = "STEPSCOPE_PURE_PYTHON"
_SOURCES = Path(__file__).with_name("native")


def _load() -> Any:
    if os.environ.get(SWITCH_VARIABLE) == "1":
        return None
    try:
        module = importlib.import_module("stepscope._hot")
        sources = digest(_SOURCES)
    except (ImportError, OSError):
        return None
    if sources and getattr(module, "SOURCES", None) != sources:  # a checkout that was updated since
        log.warning(
            "stepscope's C++ part was built from other sources than those beside it. Python does the same, slower; "
            "rebuild it: pip install -e ."
        )
        return None
    return module


#: The module ``stepscope._hot``, or None.
extension: Any = _load()
