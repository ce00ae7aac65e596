"""Two workers, usually of two runs, beside each other: step time, what steps are made of, operators and kernels.

Every number is one of the summary (``stepscope.summary``) or that divided by its number of steps; nothing is measured
anew here. A difference is always the second less the first.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from stepscope.compare.parts import divided
from stepscope.compare.quantities import quantities
from stepscope.compare.sentence import told
from stepscope.compare.sides import Side
from stepscope.compare.tree import tree
from stepscope.compare.warnings import warnings
from stepscope.compare.work import TABLES, work

__all__ = ["MOST_ROWS", "Side", "compare"]

#: Rows of a table that are listed by default; what the others add up to is told beside them.
MOST_ROWS = 300


def compare(a: Side, b: Side, most: int = MOST_ROWS) -> dict[str, Any]:
    """What differs from ``a`` to ``b``, as plain data.

    Args:
        a: what is compared with, such as the run before a change.
        b: what is compared.
        most: operators, kernels and modules that are listed, of each.
    """
    headline = quantities(a, b)
    parts = {division: divided(a, b, division) for division in ("phase", "activity")}
    tables = {table: work(a, b, table, most) for table in TABLES}
    return {
        "a": a.about(),
        "b": b.about(),
        **told(headline, parts, tables),
        "warnings": [asdict(warning) for warning in warnings(a, b)],
        "headline": [asdict(quantity) for quantity in headline],
        "parts": {division: asdict(found) for division, found in parts.items()},
        "work": {table: asdict(found) for table, found in tables.items()},
        "module_tree": [asdict(node) for node in tree(a, b)],
    }
