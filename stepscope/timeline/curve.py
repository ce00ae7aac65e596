"""A curve of a timeline's lane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Curve:
    """``unit`` is ratio, bytes, bytes_per_s or number.

    ``mean`` holds a value for each bin, NaN where nothing was captured. Where there is no such curve ``why`` says why,
    and there are no values.
    """

    id: str
    label: str
    unit: str
    definition: str
    mean: np.ndarray
    why: str = ""
