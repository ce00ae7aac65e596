"""Hugging Face Transformers: ``Trainer(..., callbacks=[StepscopeCallback("runs/exp1")])``."""

from __future__ import annotations

import os
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from stepscope_torch.profiler import Profiler

#: What the latest training is recorded with. A training that ends with an exception tells its callbacks nothing.
_latest: Profiler | None = None


class StepscopeCallback(TrainerCallback):
    """Records every ``train`` of a Trainer into the run folder ``run``.

    A step is an update of the weights, so that ``gradient_accumulation_steps`` make one step of several batches;
    evaluation lies beside the steps.

    Args:
        run: the run folder, e.g. ``runs/exp1``. All ranks of a job give the same one.
        options: those of ``stepscope_torch.Profiler``.

    Each ``train`` is a worker of its own in the run. Raises nothing into the training.
    """

    def __init__(self, run: str | os.PathLike[str], **options: Any) -> None:
        self._profiler = Profiler(run, **options)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        global _latest
        if _latest is not None:
            _latest.stop()
        _latest = self._profiler
        self._profiler.start()

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._profiler.stop()
