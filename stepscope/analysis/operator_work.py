"""FLOPs and bytes of PyTorch's matrix products and convolutions, from the shapes that a capture records.

FLOPs as ``torch.utils.flop_counter`` counts them: 2 m n k of a product, 2 a multiply-add of a convolution without
regard to its padding, as much again for each gradient of it. Only the innermost operators that do the work are
counted (``aten::mm``, not the ``aten::linear`` around it), so that no sum has it twice. Bytes: both factors and
the result once, at the size of the first factor's elements; what a product is added to is in no count.
Attention is in no count: what a mask leaves out is not recorded.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from stepscope.analysis.arguments import OperatorArgs, decode
from stepscope.schema import Events

#: Positions of both factors among the inputs.
_PRODUCTS = {"mm": (0, 1), "addmm": (1, 2), "bmm": (0, 1), "baddbmm": (1, 2), "_scaled_mm": (0, 1), "mv": (0, 1)}
_CONVOLUTIONS = ("convolution", "convolution_backward")
#: The operators of which this is known.
COUNTED = {f"aten::{name}" for name in (*_PRODUCTS, *_CONVOLUTIONS)}
#: What the record calls a type, as XLA names it, and its bytes.
_TYPES = {
    "float": ("f32", 4), "double": ("f64", 8), "c10::Half": ("f16", 2), "c10::BFloat16": ("bf16", 2),
    "c10::Float8_e4m3fn": ("f8e4m3fn", 1), "c10::Float8_e5m2": ("f8e5m2", 1),
    "c10::Float8_e4m3fnuz": ("f8e4m3fnuz", 1), "c10::Float8_e5m2fnuz": ("f8e5m2fnuz", 1),
}  # fmt: skip
#: What arguments raise that are not recorded, or of a form that no version writes.
_NOT_TOLD = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
#: FLOPs or bytes of one call: no device does as many in an hour.
_MOST = 1 << 62


@dataclass(frozen=True)
class Work:
    """Of one call: ``type`` is that of the first factor, as XLA names it. ``tf32``: by default PyTorch lets matrix
    units take f32 as TF32 (in convolutions, not in products).
    """

    flops: int
    bytes: int
    type: str
    tf32: bool = False


def operator_work(events: Events, rows: np.ndarray) -> tuple[np.ndarray, list[Work | None]]:
    """For each call a position in the list of distinct work; None: not counted, or its shapes are not recorded."""
    args, at = decode(events, rows, OperatorArgs)
    width = len(args)
    wanted = np.array([name in COUNTED for name in events.names], bool)
    name = np.where(wanted[events.name[rows]], events.name[rows] + 1, 0).astype(np.int64)
    keys, code = np.unique(np.where(name > 0, name * width + at, 0), return_inverse=True)
    works = [None if key == 0 else _work(events.names[key // width - 1], args[key % width]) for key in keys.tolist()]
    return code.reshape(-1), works


def _work(name: str, args: OperatorArgs) -> Work | None:
    try:
        found = _counted(name, args)
        return found if max(found.flops, found.bytes) < _MOST else None
    except _NOT_TOLD:
        return None


def _counted(name: str, args: OperatorArgs) -> Work:
    shapes, types = json.loads(bytes(args.shapes)), json.loads(bytes(args.types))
    short = name.removeprefix("aten::")
    if short in _PRODUCTS:
        return _product(shapes, types, *_PRODUCTS[short])
    told = json.loads(bytes(args.concrete))
    return _backward(shapes, types, told) if short.endswith("backward") else _forward(shapes, types, told)


def _product(shapes: Sequence[Any], types: Sequence[str], left: int, right: int) -> Work:
    a, b = shapes[left], shapes[right]
    if a[-1] != b[-2 if len(b) > 1 else -1]:
        raise ValueError
    out = [*a[:-1], *(b[-1:] if len(b) > 1 else ())]
    type, size = _TYPES[types[left]]
    return Work(2 * prod(out) * a[-1], size * (prod(a) + prod(b) + prod(out)), type)


def _forward(shapes: Sequence[Any], types: Sequence[str], told: Sequence[str]) -> Work:
    stride, padding, dilation, transposed = (json.loads(told[i].lower()) for i in (3, 4, 5, 6))
    data, kernel = shapes[0], shapes[1]
    places = zip(data[2:], kernel[2:], stride, padding, dilation, strict=True)
    if transposed:
        more = json.loads(told[7])
        groups = int(told[8])
        spatial = [(n - 1) * s - 2 * p + d * (k - 1) + 1 + m for (n, k, s, p, d), m in zip(places, more, strict=True)]
        out = [data[0], kernel[1] * groups, *spatial]
    else:
        out = [data[0], kernel[0], *((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in places)]
    type, size = _TYPES[types[0]]
    flops = _convolution_flops(out, data, kernel, transposed)
    return Work(flops, size * (prod(data) + prod(kernel) + prod(out)), type, tf32=True)


def _backward(shapes: Sequence[Any], types: Sequence[str], told: Sequence[str]) -> Work:
    """Each gradient takes as many multiply-adds as the forward pass; that of the bias is in no count."""
    out, data, kernel = shapes[:3]
    wanted = json.loads(told[10].lower())
    type, size = _TYPES[types[0]]
    gradients = [shape for shape, is_wanted in zip((data, kernel), wanted, strict=False) if is_wanted]
    flops = len(gradients) * _convolution_flops(out, data, kernel, json.loads(told[7].lower()))
    return Work(flops, size * (prod(out) + prod(data) + prod(kernel) + sum(map(prod, gradients))), type, tf32=True)


def _convolution_flops(out: Sequence[int], data: Sequence[int], kernel: Sequence[int], transposed: bool) -> int:
    """Each value of the output, of a transposed one of the input, meets one kernel: kernel[1:] of its features."""
    return 2 * prod(data if transposed else out) * prod(kernel[1:])
