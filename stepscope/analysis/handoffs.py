"""Work that one host thread hands to another, and the region that a piece of work belongs to on whatever thread."""

from __future__ import annotations

import numpy as np

from stepscope.analysis.enclosing import innermost
from stepscope.schema import DEVICE_WORK, NONE, RUNTIME_CALLS, Events

#: How often work is handed on at most between a request and a launch; TensorFlow does it 2 to 4 times.
_MOST_HANDOFFS = 16


def producers(events: Events) -> np.ndarray:
    """The rows that hand work on; consumers bear their ``correlation`` as ``external_id``."""
    return np.flatnonzero(~events.of_kind(*RUNTIME_CALLS, *DEVICE_WORK) & (events.correlation > 0))


def handoffs(events: Events) -> tuple[np.ndarray, np.ndarray]:
    """Producer and consumer of each pair, by consumer. Of producers that share one the first is taken."""
    producer = producers(events)
    consumer = np.flatnonzero(events.external_id > 0) if len(producer) else producer
    ids, first = np.unique(events.correlation[producer], return_index=True)
    at = np.searchsorted(ids, events.external_id[consumer])
    known = at < len(ids)
    known[known] = ids[at[known]] == events.external_id[consumer[known]]
    return producer[first[at[known]]], consumer[known]


def region_of(events: Events, regions: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """For each of ``rows`` the row of the region that it belongs to, ``NONE`` for none.

    That is the innermost of ``regions`` on its thread that is open when it starts. Where none is, the innermost
    consumer around it leads to its producer, from which the search goes on.
    """
    out = np.full(len(rows), NONE, np.int64)
    producer, consumer = handoffs(events)
    going, at = np.arange(len(rows)), rows
    for _ in range(_MOST_HANDOFFS):
        found = innermost(events, regions, at)
        out[going] = found
        going, at = going[found == NONE], at[found == NONE]
        around = innermost(events, consumer, at)
        going, around = going[around != NONE], around[around != NONE]
        if len(going) == 0:
            break
        at = producer[np.searchsorted(consumer, around)]
    return out
