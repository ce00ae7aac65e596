"""Samples that a worker trains on in a second."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.loader import Loader
from stepscope.analysis.phases import MicroSteps
from stepscope.analysis.steps import Steps


@dataclass(frozen=True)
class Throughput:
    """Training throughput of one worker; null where the batch size is not told.

    ``throughput_samples_per_s`` of the run is the sum over its workers, null unless all tell theirs.

    Metrics:
        batch_size: samples in one batch: the hook's option ``batch_size``, else what the DataLoader says, else what
            recorded input shapes show: the first dimension of what the first convolution of most steps got, without
            one of the indices of the largest embedding, without either of what the first linear layer got
        batch_size_from: which of these it was
        samples_per_s: batch_size x micro batches of the complete steps / time of these steps; a step whose micro
            batches are not known counts as one. Time between steps is not in it
    """

    batch_size: int
    batch_size_from: str | None
    samples_per_s: float


def throughput(loaded: Loader, steps: Steps, micro: MicroSteps | None) -> Throughput | None:
    """Throughput over the complete steps; None where there is none or the batch size is not told."""
    time_ns = int(steps.duration_ns[steps.complete].sum())
    if loaded.batch_size is None or time_ns == 0:
        return None
    batches = np.ones(len(steps), np.int64) if micro is None else np.maximum(micro.count, 1)
    samples = loaded.batch_size * int(batches[steps.complete].sum())
    return Throughput(loaded.batch_size, loaded.batch_size_from, samples * 1e9 / time_ns)
