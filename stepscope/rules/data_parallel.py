"""One process drives several GPUs with DataParallel."""

from __future__ import annotations

from stepscope.rules.case import Case
from stepscope.rules.finding import Finding, Place


def data_parallel(case: Case) -> Finding | None:
    """One process drives several GPUs with ``torch.nn.DataParallel``.

    Fires when ``DataParallel.forward`` is in the trace and more than one device worked. The removed PyTorch plugin for
    TensorBoard advised the same.

    Gain: not known; one process a GPU removes the copies of the model and the contention for the interpreter.
    """
    names = {row["name"] for part in ("annotations", "operators") for row in case.rows(part)}
    if "DataParallel.forward" not in names or len(case.rows("gpu")) < 2:
        return None
    return Finding(
        rule="data_parallel",
        severity="warning",
        message=f"DataParallel drives {len(case.rows('gpu'))} GPUs from one process, which copies the model each step.",
        evidence={"gpus": len(case.rows("gpu"))},
        fix=["Use DistributedDataParallel: one process a GPU, started by torchrun."],
        places=[Place("annotation", "DataParallel.forward")],
        rests_on=("operators",),
    )
