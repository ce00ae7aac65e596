"""Accelerate: ``with profile(accelerator, "runs/exp1"):`` around a loop over what ``accelerator.prepare`` returned."""

from __future__ import annotations

import os
from typing import Any

from accelerate import Accelerator

from stepscope_torch.profiler import Profiler


def profile(accelerator: Accelerator, run: str | os.PathLike[str], **options: Any) -> Profiler:
    """A ``Profiler`` for the loop of this accelerator, to be used as a context manager, or by ``start`` and ``stop``.

    Only the optimizers that it has prepared end a step: with ``accelerator.accumulate`` a step is several batches.
    Call it after ``accelerator.prepare``.

    Args:
        run: the run folder, e.g. ``runs/exp1``. All ranks of a job give the same one.
        options: those of ``stepscope_torch.Profiler``; an optimizer may be a prepared one.
    """
    prepared = options.pop("optimizer", None) or getattr(accelerator, "_optimizers", None) or []
    if not isinstance(prepared, (list, tuple)):
        prepared = [prepared]
    # torch's hooks are called with the optimizer inside Accelerate's wrapper
    optimizers = [getattr(optimizer, "optimizer", optimizer) for optimizer in prepared]
    return Profiler(run, optimizer=optimizers or None, **options)
