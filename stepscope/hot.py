"""The C++ of what training code runs through in each step, where it was built; its results are those of the Python.

``STEPSCOPE_PURE_PYTHON=1`` in the environment switches it off.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

SWITCH_VARIABLE = "STEPSCOPE_PURE_PYTHON"


def _load() -> Any:
    if os.environ.get(SWITCH_VARIABLE) == "1":
        return None
    try:
        return importlib.import_module("stepscope._hot")
    except ImportError:
        return None


#: The module ``stepscope._hot``, or None.
extension: Any = _load()
