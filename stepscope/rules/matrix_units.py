"""Matrix products run in single precision on plain units."""

from __future__ import annotations

import re

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding, Place

#: Matrix products and convolutions as device functions are called, helpers around them excepted.
_PRODUCTS = re.compile(
    r"gemm|Cijk_|[sc]cudnn|implicit_convolve|(?:dgrad|wgrad|fprop)(?:_|\d|2d|alg)|winograd\w*(?:conv|fused|gemm)"
    r"|conv2d_grouped|gemv|naive_conv|miopen\w*conv",
    re.IGNORECASE,
)
_HELPERS = re.compile(r"nchwToNhwc|nhwcToNchw|computeOffsets|generateWinograd|im2col|transpose|splitKreduce|gemv", re.I)
#: Devices with matrix units, by the models' names; None is what they can do with single precision.
_TF32 = re.compile(r"\b(?:A\d{2,4}\w*|RTX (?:[3-9]\d{3}|A?\d{4} Ada)|L4\w?|L40\w*|H\d{3}\w*|GH\d+|B\d{3}|GB\d+)\b")
_HALF = re.compile(r"\b(?:V100|Titan V|T4|Quadro RTX|RTX 20\d\d|MI\d{3}\w*)\b|Instinct", re.IGNORECASE)
SPEEDUP = 2


def matrix_units(case: Case) -> Finding | None:
    """Matrix products and convolutions run in single precision on plain units, though the device has matrix units.

    Fires when such kernels take at least ``matrix_warning`` of the step time and the device's name tells that it has
    Tensor or Matrix Cores. Only kernels whose name tells both the product and the precision count, so that fused,
    generated and attention kernels give no false advice.

    Thresholds:
        matrix_warning: our choice; the removed PyTorch plugin for TensorBoard advised at any time of eligible operators

    Gain: half their time: matrix units do these products several times as fast, memory seldom keeps up.
    """
    basis = case.deep
    name = next((d.get("name") or "" for d in case.rows("devices")), "")
    has_tf32, has_half = bool(_TF32.search(name)), bool(_HALF.search(name))
    if basis is None or not (has_tf32 or has_half):
        return None
    plain = [
        k
        for k in case.rows("kernels")
        if k["kind"] == "compute"
        and k["precision"] == "fp32"
        and not k["matrix_units"]
        and _PRODUCTS.search(k["name"])
        and not _HELPERS.search(k["name"])
    ]
    spent_ns = case.kernels_ns(plain)
    ratio = basis.ratio(spent_ns)
    if not spent_ns or ratio < case.limits.matrix_warning:
        return None
    return Finding(
        rule="matrix_units",
        severity="warning",
        message=f"Matrix products and convolutions in single precision take {fmt.percent(ratio)} of the {basis.what} "
        f"without the matrix units of the {fmt.name(name, 40)}.",
        evidence={
            "plain_fp32_products_ns": round(spent_ns),
            "share_of_kernels_ratio": spent_ns / case.activity_ns("kernel"),
            "largest_kernel": plain[0]["name"],
            "device": name,
        },
        fix=_fix(case.framework, has_tf32),
        gain=basis.gain(
            spent_ns * (1 - 1 / SPEEDUP), f"time of these kernels x (1 - 1/{SPEEDUP}) / {basis.what}: an estimate"
        ),
        places=[Place("kernel", plain[0]["name"])],
        counter_evidence=["Lower precision must be tried on the model's accuracy."],
        rests_on=("kernels", "device times"),
    )


def _fix(framework: str, has_tf32: bool) -> list[str]:
    if framework == "tensorflow":
        return ["keras.mixed_precision.set_global_policy('mixed_bfloat16'), or 'mixed_float16' on older GPUs."]
    if framework == "jax":
        return ["Compute in bfloat16, or jax.config.update('jax_default_matmul_precision', 'tensorfloat32')."]
    if has_tf32:
        return [
            "torch.set_float32_matmul_precision('high') lets single precision products use TF32.",
            "Mixed precision: torch.autocast('cuda', dtype=torch.bfloat16) around forward and loss.",
        ]
    return ["Mixed precision: torch.autocast('cuda', dtype=torch.float16) with torch.amp.GradScaler()."]
