"""Producers and consumers of an XSpace: work that one thread hands to another, as ids of the events' columns.

A producer tells a type (``_pt``) and an id (``_p``), its consumers the same pair (``_ct``, ``_c``). Both become one
number: ``correlation`` of the producer and ``external_id`` of its consumers.
"""

from __future__ import annotations

import numpy as np

from stepscope.importers.xplane_stats import StatTable
from stepscope.schema import NONE

PRODUCER = ("_pt", "_p")
CONSUMER = ("_ct", "_c")
_COLUMNS = (*PRODUCER, *CONSUMER)


def flow_columns(stats: StatTable) -> dict[str, np.ndarray]:
    """The four stats, int64 of shape (events,) each; type and id are both ``NONE`` where one of them is absent."""
    columns: dict[str, np.ndarray] = {}
    for pair in (PRODUCER, CONSUMER):
        told = stats.has(pair[0]) & stats.has(pair[1])
        columns |= {name: np.where(told, stats.number(name), NONE) for name in pair}
    return columns


def number_flows(columns: dict[str, np.ndarray]) -> None:
    """Replace the columns of ``flow_columns`` by numbers in ``correlation`` and ``external_id``.

    Ids that only one side tells join nothing and are left out. The numbers begin above the correlation ids of
    device work, which stay where both are told.
    """
    kind_p, id_p, kind_c, id_c = (columns.pop(name) for name in _COLUMNS)
    produces, consumes = np.flatnonzero(kind_p != NONE), np.flatnonzero(kind_c != NONE)
    pairs = np.stack(
        (
            np.concatenate((kind_p[produces], kind_c[consumes])),
            np.concatenate((id_p[produces], id_c[consumes])),
        )
    )
    _, key = np.unique(pairs, axis=1, return_inverse=True)
    key = key.reshape(-1)
    produced, consumed = key[: len(produces)], key[len(produces) :]
    first = int(columns["correlation"].max(initial=0)) + 1
    columns["external_id"] = np.full(len(kind_p), NONE, np.int64)
    kept = np.isin(consumed, produced)
    columns["external_id"][consumes[kept]] = consumed[kept] + first
    kept = np.isin(produced, consumed) & (columns["correlation"][produces] == NONE)
    columns["correlation"][produces[kept]] = produced[kept] + first
