"""What a device function's name tells of the arithmetic inside: its precision, and whether matrix units do it.

Names follow the makers' habits, not a standard: cuBLAS and CUTLASS write operand types and the shape of the matrix
instruction (``s16816gemm_bf16``, ``xmma_gemm_bf16bf16``), ``nvjet`` one letter an operand, AMD's Tensile the operand
types after the layouts (``Cijk_Alik_Bljk_HHS_BH``), templates their C++ types. What says nothing is ``other``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

PRECISIONS = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "other")

#: First operand of an nvjet name; o is 4-bit floats, which have no class of their own.
_NVJET = {"q": "fp8", "r": "fp8", "t": "bf16", "h": "fp16", "s": "tf32", "d": "fp64"}
_TENSILE = (
    ("F8", "fp8"), ("B8", "fp8"), ("I8", "int8"), ("X", "tf32"), ("H", "fp16"), ("B", "bf16"), ("D", "fp64"),
    ("Z", "fp64"),
)  # fmt: skip
#: Both operands are 4-bit floats; their scales may be 8-bit ones, which must not decide.
_FOUR_BITS = re.compile(r"xf4_\w*xf4|xe2m1_\w*xe2m1|_E2m1_E2m1|nvfp4", re.IGNORECASE)
#: cuDNN's generated attention writes f16 for bfloat16 as well.
_SIXTEEN_BITS = re.compile(r"cudnn_generated_\w*_f16")
#: In this order: the narrow type of an operand decides, since accumulators and scalars are wider.
_SPELLED: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (precision, re.compile(pattern, re.IGNORECASE))
    for precision, pattern in (
        ("fp8", r"e4m3|e5m2|fp8|float8|bf8"),
        ("int8", r"imma|i8816|i16832|s8s8|i8i(?:8|32)|int8"),
        ("tf32", r"tf32|tfloat32|xf32|tensorop_s1688(?:gemm|fprop|dgrad|wgrad)(?!_b?f16)"),
        ("bf16", r"bf16|bfloat16"),
        ("fp16", r"fp16|f16|half|hgemm|hcudnn|hmma|h884|h1688|h16816"),
        ("fp32", r"float|fp32|f32|sgemm|scudnn|cgemm"),
        ("fp64", r"double|fp64|f64|dgemm|dmma|d884|zgemm"),
    )
)
_MATRIX_UNITS = re.compile(
    # NVIDIA: shapes of the matrix instructions, cuBLAS and cuDNN, CUTLASS, instructions by name
    r"[hsid]884|[hsi]1688|[hsi]16816|i8816|i16832|[hibd]mma_|w?gmma|wmma|tensorop|nvjet|tcgen05|Tma_?Umma"
    r"|SM(?:75|80|89|90|100|120)_(?:\d+x\d+x\d+|MMA)_"
    r"|xmma_\w*?(?:tf32|b?f16|e4m3|e5m2|i8|s8|tensor\d+x\d+x\d+)|bmm_\w+_sm1\d\d|deep_gemm::\w*gemm|Marlin<"
    # attention: FlashAttention 2 to 4, cuDNN, xformers and TensorRT-LLM, FlashInfer
    r"|flash_(?:fwd|bwd)|FlashAttn(?:Fwd|Bwd)|FlashAttention(?:Forward|Backward)|fmha|_sdpa_|Prefill\w*KVCache\w*Kernel"
    # AMD: Tensile, Composable Kernel, MIOpen, AOTriton
    r"|mfma|_MI\d+x\d+|_xdl|xdlops|_gtcx|^attn_(?:fwd|bwd)\b|^bwd_kernel_(?:dk_dv|dq|fuse)\b",
    re.IGNORECASE,
)
#: Helpers around attention, and attention in single precision before TF32: no matrix instruction inside.
_PLAIN_UNITS = re.compile(
    r"flash_\w*(?:dot_do_o|convert_d|combine|clear)|Flash\w*(?:Preprocess|Postprocess|Combine)"
    r"|fmha_cutlass[FB]_f32\w*_sm(?:50|70|75)",
    re.IGNORECASE,
)
_TYPES = (
    ("fp8", ("c10::Float8_",)),
    ("fp16", ("c10::Half",)),
    ("bf16", ("c10::BFloat16",)),
    ("fp32", ("float", "c10::complex<float>")),
    ("fp64", ("double", "c10::complex<double>")),
)


def precision_of(name: str) -> str:
    """One of ``PRECISIONS``."""
    found = re.match(r"nvjet(?:_sm\d+)?_([a-z])", name)
    if found:
        return _NVJET.get(found[1], "other")
    found = re.match(r"(?:Custom_)?Cijk_[A-Za-z]+_[A-Za-z]+_([A-Z0-9]+)_(MX_)?", name)
    if found and found[2]:
        return "tf32"
    if found:
        return next((precision for letters, precision in _TENSILE if found[1].startswith(letters)), "fp32")
    if _FOUR_BITS.search(name) or _SIXTEEN_BITS.match(name):
        return "other"
    return next((precision for precision, pattern in _SPELLED if pattern.search(name)), "other")


def precision_of_types(types: Sequence[str]) -> str:
    """The narrowest floating type of an operator's inputs, as PyTorch writes them; ``other`` if none floats."""
    return next((precision for precision, starts in _TYPES if any(t.startswith(starts) for t in types)), "other")


def on_matrix_units(name: str) -> bool:
    """Whether the name tells of Tensor Cores (NVIDIA) or Matrix Cores (AMD)."""
    return _MATRIX_UNITS.search(name) is not None and _PLAIN_UNITS.search(name) is None
