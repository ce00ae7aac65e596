"""Which cell of a notebook runs: what an earlier cell began and did not end, nothing is left that would end it."""

from __future__ import annotations

import sys


def running_cell() -> int | None:
    """The number of the cell that runs now; None outside of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return None if shell is None else shell.execution_count
