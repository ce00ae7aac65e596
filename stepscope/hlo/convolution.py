"""FLOPs of convolutions: 2 for each position of the kernel that meets the input, not its padding."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from stepscope.hlo.shapes import Shape


def convolution_flops(told: Mapping[str, Any], lhs: Shape, rhs: Shape, out: Shape) -> int:
    """Of a convolution with the attributes ``told`` (``stepscope.hlo.attributes``).

    Raises:
        KeyError, IndexError: the attributes are not all there, or do not fit the shapes.
    """
    numbers = told["convolution"]
    valid = 1
    for at, (_, stride, low, _, window_dilation, base_dilation) in enumerate(told.get("window", ())):
        kernel = rhs.dimensions[numbers["kernel_spatial"][at]]
        outs = out.dimensions[numbers["output_spatial"][at]]
        ins = lhs.dimensions[numbers["input_spatial"][at]]
        valid *= _positions(kernel, outs, ins, stride, low, window_dilation, base_dilation)
    features = lhs.dimensions[numbers["input_feature"]] // max(told.get("feature_groups", 1), 1)
    batch = lhs.dimensions[numbers["input_batch"]] // max(told.get("batch_groups", 1), 1)
    return 2 * features * out.dimensions[numbers["output_feature"]] * batch * valid


def library_convolution_flops(target: str, told: Mapping[str, Any], operands: list[Shape], result: Shape) -> int | None:
    """Of a call into a convolution library; those of the gradients have the roles of the forward convolution."""
    if "Backward" not in target:
        return convolution_flops(told, operands[0], operands[1], result)
    if target.endswith("BackwardInput"):
        return convolution_flops(told, result, operands[1], operands[0])
    if target.endswith("BackwardFilter"):
        return convolution_flops(told, operands[0], result, operands[1])
    return None


def _positions(
    kernel: int, outs: int, ins: int, stride: int, low: int, window_dilation: int, base_dilation: int
) -> int:
    """Pairs of a place in the kernel and one in the output whose place in the input is there, in one dimension."""
    if prod((kernel, outs)) > 1 << 26:  # no image is so large: do not make a table of it
        return kernel * outs
    at = np.arange(outs)[:, None] * stride - low + np.arange(kernel)[None, :] * window_dilation
    base = max(base_dilation, 1)
    inside = (at >= 0) & (at % base == 0) & (at // base < ins)
    return int(inside.sum())
