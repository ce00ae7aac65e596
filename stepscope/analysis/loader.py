"""What feeds the training: how many processes load data, and how large a batch is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepscope.schema import Events, Kind

#: PyTorch's loaders as traces name them.
_IN_PROCESS, _WITH_WORKERS = "_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter"


@dataclass(frozen=True)
class Loader:
    """The loader of the training's batches.

    Metrics:
        workers: processes that load data; 0 where the training process does it itself, null where it is not known
        batch_size: samples in one batch, null where it is not told
    """

    workers: int | None
    batch_size: int | None


def loader(events: Events, meta: Mapping[str, Any]) -> Loader:
    """What worker.json tells of the loader, else what its calls in a trace are named after."""
    told = meta.get("loader") or {}
    workers = _count(told.get("workers"))
    if workers is None:
        names = [events.names[i] for i in np.unique(events.name[events.of_kind(Kind.DATALOADER)]).tolist()]
        if any(_IN_PROCESS in n for n in names) and not any(_WITH_WORKERS in n for n in names):
            workers = 0
    size = _count(meta.get("batch_size")) or _count(told.get("batch_size"))
    return Loader(workers, size or None)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
