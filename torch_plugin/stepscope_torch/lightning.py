"""Lightning: ``Trainer(callbacks=[StepscopeCallback("runs/exp1")])`` or ``Trainer(profiler=StepscopeProfiler(...))``.

Both record every ``fit``: its steps are those of the optimizer, so that gradient accumulation makes one step of
several batches, and its validation lies beside them. The profiler also records what Lightning itself does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
    from lightning.pytorch.profilers import Profiler as LightningProfiler
except ImportError:  # the older name of the package
    from pytorch_lightning import Callback, LightningModule, Trainer
    from pytorch_lightning.profilers import Profiler as LightningProfiler

from stepscope.annotate import annotate, annotation_begin, annotation_end
from stepscope_torch.profiler import Profiler


class StepscopeCallback(Callback):
    """Records every ``fit`` of a Trainer into the run folder ``run``.

    Args:
        run: the run folder, e.g. ``runs/exp1``. All ranks of a job give the same one.
        options: those of ``stepscope_torch.Profiler``.

    Each ``fit`` is a worker of its own in the run. Raises nothing into the training.
    """

    def __init__(self, run: str | os.PathLike[str], **options: Any) -> None:
        self._profiler = Profiler(run, **options)

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        if stage == "fit":
            self._profiler.start()

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        self._profiler.stop()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        self._profiler.stop()


class StepscopeProfiler(LightningProfiler):
    """Records what ``StepscopeCallback`` does, and each action of Lightning as an annotation.

    Args:
        run: the run folder, e.g. ``runs/exp1``. All ranks of a job give the same one.
        options: those of ``stepscope_torch.Profiler``.

    Lightning names some twenty actions a step; each costs about a microsecond.
    """

    def __init__(self, run: str | os.PathLike[str], **options: Any) -> None:
        super().__init__()
        self._profiler = Profiler(run, **options)
        self._depth = 0  # of the actions that ``profile`` has open
        self._open: dict[str, list[Any]] = {}  # handles of those that ``start`` has begun

    def setup(self, stage: str, local_rank: int | None = None, log_dir: str | None = None) -> None:
        super().setup(stage, local_rank, log_dir)
        if stage == "fit":
            self._depth = 0
            self._profiler.start()

    def teardown(self, stage: str | None) -> None:
        if hasattr(self, "_profiler"):  # __del__ of the base class also comes here after an __init__ that raised
            self._profiler.stop()
        super().teardown(stage)

    @contextmanager
    def profile(self, action_name: str) -> Iterator[str]:
        self._depth += 1
        try:
            with annotate(action_name):
                yield action_name
        except StopIteration:  # a loader has come to its end
            raise
        except BaseException:
            if self._depth == 1:  # the training ends, and Lightning tells its profiler nothing
                self._profiler.stop()
            raise
        finally:
            self._depth -= 1

    def start(self, action_name: str) -> None:
        self._open.setdefault(action_name, []).append(annotation_begin(action_name))

    def stop(self, action_name: str) -> None:
        handles = self._open.get(action_name)
        if handles:
            annotation_end(handles.pop())
