"""Much of the device's time goes into elementwise kernels that could be fused."""

from __future__ import annotations

import re

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding, Place

#: Eager elementwise kernels of PyTorch: each reads and writes all its operands in memory.
_ELEMENTWISE = re.compile(r"elementwise_kernel")


def unfused_kernels(case: Case) -> Finding | None:
    """Much time goes into eager elementwise kernels (adds, products, casts), which only move memory.

    Fires when PyTorch's elementwise kernels take at least ``unfused_warning`` of the step time. Foreach and fused
    kernels, and those of a compiler, have other names.

    Thresholds:
        unfused_warning: our choice

    Gain: half their time: two that are fused into one read and write half as much. Longer chains gain more.
    """
    basis = case.deep
    if basis is None or not case.device_worked:
        return None
    single = [k for k in case.rows("kernels") if k["kind"] == "compute" and _ELEMENTWISE.search(k["name"])]
    spent_ns, runs = case.kernels_ns(single), sum(k["count"] for k in single)
    ratio = basis.ratio(spent_ns)
    if not spent_ns or ratio < case.limits.unfused_warning:
        return None
    return Finding(
        rule="unfused_kernels",
        severity="warning",
        message=f"Elementwise kernels, which only move memory, take {fmt.percent(ratio)} of the {basis.what}, in "
        f"{runs:,} runs.",
        evidence={"elementwise_ns": round(spent_ns), "runs": runs, "largest_kernel": single[0]["name"]},
        fix=[
            "torch.compile(model) fuses chains of them into one kernel each.",
            "Use fused versions: scaled_dot_product_attention, fused norms and activations, fused optimizers.",
        ],
        gain=basis.gain(spent_ns / 2, f"time of elementwise kernels / 2 / {basis.what}: an estimate"),
        places=[Place("kernel", single[0]["name"])],
        rests_on=("kernels", "device times"),
    )
