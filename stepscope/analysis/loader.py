"""What feeds the training: how many processes load data, and how large a batch is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stepscope.analysis.batch_shapes import batch_by_shapes
from stepscope.analysis.steps import Steps
from stepscope.schema import Events, Kind

#: PyTorch's loaders as traces name them.
_IN_PROCESS, _WITH_WORKERS = "_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter"


@dataclass(frozen=True)
class Loader:
    """The loader of the training's batches.

    Metrics:
        workers: processes that load data; 0 where the training process does it itself, null where it is not known
        batch_size: samples in one batch, null where it is not told
        batch_size_from: who tells it: "the script", "its DataLoader", or "the input shapes of" an operator; null
            where nothing does
    """

    workers: int | None
    batch_size: int | None
    batch_size_from: str | None = None


def loader(events: Events, meta: Mapping[str, Any]) -> Loader:
    """What worker.json tells of the loader, else what its calls in a trace are named after."""
    told = meta.get("loader") or {}
    workers = _count(told.get("workers"))
    if workers is None:
        names = [events.names[i] for i in np.unique(events.name[events.of_kind(Kind.DATALOADER)]).tolist()]
        if any(_IN_PROCESS in n for n in names) and not any(_WITH_WORKERS in n for n in names):
            workers = 0
    for source, size in (("the script", meta.get("batch_size")), ("its DataLoader", told.get("batch_size"))):
        if _count(size):
            return Loader(workers, _count(size), source)
    return Loader(workers, None)


def with_shapes(known: Loader, events: Events, steps: Steps) -> Loader:
    """The loader with the batch size that recorded shapes tell, where nobody else did."""
    found = batch_by_shapes(events, steps) if known.batch_size is None else None
    return (
        known
        if found is None
        else replace(known, batch_size=found[0], batch_size_from=f"the input shapes of {found[1]}")
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
