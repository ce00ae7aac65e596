"""How many training steps an execution of Keras' train function was, and where each of them lies. Pure functions."""

from __future__ import annotations

from itertools import pairwise


def logical_steps(begin: int, end: int, per_epoch: int | None, counted: int | None = None) -> int:
    """Training steps of one execution.

    With ``steps_per_execution`` = k, Keras announces k batches an execution, also for the last one of an epoch,
    for which fewer may be left.

    Args:
        begin, end: batch numbers that ``on_train_batch_begin`` and ``on_train_batch_end`` got.
        per_epoch: batches an epoch (``params["steps"]``), None while Keras does not know it yet.
        counted: by how much the optimizer's own count of iterations grew, where that could be read. Only where
            data may have run out is it asked (it leaves out steps that loss scaling skipped). A dataset that goes
            on after ``per_epoch`` batches is trained on to the end of the execution.
    """
    announced = max(1, end - begin + 1)
    if per_epoch is not None and end < per_epoch:
        return announced
    if counted is not None and 1 <= counted <= announced:
        return counted
    return announced if per_epoch is None else max(1, per_epoch - begin)


def split_evenly(start_ns: int, end_ns: int, parts: int) -> list[tuple[int, int]]:
    """``parts`` intervals that touch, fill start to end exactly, and differ by 1 ns at most."""
    edges = [start_ns + (end_ns - start_ns) * i // parts for i in range(parts + 1)]
    return list(pairwise(edges))
