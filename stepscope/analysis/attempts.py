"""Attempts of a job: a run folder in which its ranks have been recorded more than once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def attempts(ranks: Sequence[int | None], spans: Sequence[tuple[int, int] | None]) -> np.ndarray:
    """Which attempt each worker belongs to, counted from 0 by the time at which the first of its workers began.

    A job that is started anew, by hand or by its launcher after a failure, records its ranks again, and their steps
    count from 0 again. No two workers of one attempt are the same rank, and each ran while another one of it did.
    Where no rank comes twice all are one attempt, whatever their times: files of one capture need not overlap.

    Args:
        ranks: of each worker; None where it is not known, which is never the same as another.
        spans: begin and end of each worker's steps in ns; None where it has none.
    """
    told = [rank for rank in ranks if rank is not None]
    found = np.zeros(len(ranks), np.int64)
    if len(set(told)) == len(told):
        return found
    present: list[set[int | None]] = []
    ends: list[int] = []
    known = [(span, worker) for worker, span in enumerate(spans) if span is not None]
    for (begin, end), worker in sorted(known):
        rank = ranks[worker]
        fitting = (a for a in range(len(present)) if begin < ends[a] and (rank is None or rank not in present[a]))
        attempt = next(fitting, len(present))
        if attempt == len(present):
            present.append(set())
            ends.append(end)
        present[attempt].add(rank)
        ends[attempt] = max(ends[attempt], end)
        found[worker] = attempt
    for worker, span in enumerate(spans):  # without steps it is compared with nobody
        if span is None:
            rank = ranks[worker]
            found[worker] = next((a for a in range(len(present)) if rank not in present[a]), 0)
    return found
