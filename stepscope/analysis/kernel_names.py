"""What a device function's name tells of the arithmetic inside: its precision, and whether matrix units do it.

Names follow the makers' habits, not a standard: cuBLAS and CUTLASS write operand types and the shape of the matrix
instruction (``s16816gemm_bf16``, ``xmma_gemm_bf16bf16``), ``nvjet`` one letter an operand, AMD's Tensile the operand
types after the layouts (``Cijk_Alik_Bljk_HHS_BH``), templates their C++ types. What says nothing is ``other``.
"""

from __future__ import annotations

import re

PRECISIONS = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "other")

_NVJET = {"q": "fp8", "o": "fp8", "t": "bf16", "h": "fp16", "d": "fp64"}
_TENSILE = (("F8", "fp8"), ("B8", "fp8"), ("I8", "int8"), ("X", "tf32"), ("H", "fp16"), ("B", "bf16"), ("D", "fp64"))
#: In this order: the narrow type of an operand decides, since accumulators and scalars are wider.
_SPELLED: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (precision, re.compile(pattern, re.IGNORECASE))
    for precision, pattern in (
        ("fp8", r"e4m3|e5m2|fp8|float8"),
        ("int8", r"imma|i8816|i16832|s8s8|int8"),
        ("tf32", r"tf32|tensorop_s1688gemm(?!_b?f16)"),
        ("bf16", r"bf16|bfloat16"),
        ("fp16", r"fp16|f16|half|hgemm|hcudnn|hmma|h884|h1688|h16816"),
        ("fp32", r"float|fp32|f32|sgemm|scudnn|cgemm"),
        ("fp64", r"double|fp64|f64|dgemm|dmma|d884|zgemm"),
    )
)
_MATRIX_UNITS = re.compile(
    r"[hsid]884|[hsi]1688|[hsi]16816|i8816|i16832|[hibd]mma_|w?gmma|wmma|tensorop|nvjet|tcgen05|mfma"
    r"|flash_(?:fwd|bwd)|fmha|_sdpa_|xmma_\w*?(?:tf32|b?f16|e4m3|e5m2|i8|s8)|_MI\d+x\d+|bmm_\w+_sm1\d\d",
    re.IGNORECASE,
)


def precision_of(name: str) -> str:
    """One of ``PRECISIONS``."""
    found = re.match(r"nvjet(?:_sm\d+)?_([a-z])", name)
    if found:
        return _NVJET.get(found[1], "other")
    found = re.match(r"Cijk_[A-Za-z]+_[A-Za-z]+_([A-Z0-9]+)_", name)
    if found:
        return next((precision for letters, precision in _TENSILE if found[1].startswith(letters)), "fp32")
    return next((precision for precision, pattern in _SPELLED if pattern.search(name)), "other")


def on_matrix_units(name: str) -> bool:
    """Whether the name tells of Tensor Cores (NVIDIA) or Matrix Cores (AMD)."""
    return _MATRIX_UNITS.search(name) is not None
