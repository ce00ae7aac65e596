"""The attributes of HLO instructions by which their work is counted: dimensions of products, windows, groups.

``dot``: (contracting, batch) dimensions of the left operand. ``convolution``: the dimension numbers by name.
``window``: for each spatial dimension size, stride, padding low and high, dilation of the window and of the base.
``feature_groups``, ``batch_groups``: 1 where nothing is told. ``fft_length``. ``dimensions``.
``dot_of_call``: of a call of a matrix library, as its configuration tells. ``backend_config``: of a custom call.
``channel``, ``frontend``: of transfers, the channel's number and what the framework attached, text by name.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from stepscope.hlo.shapes import MOST_DIMENSIONS
from stepscope.protobuf_wire import LENGTH, VARINT, Fault, Field, fields, integers, signed, text

_CONVOLUTION = {
    3: "kernel_input_feature", 4: "kernel_output_feature", 7: "input_batch", 8: "input_feature", 9: "output_batch",
    10: "output_feature",
}  # fmt: skip
_CONVOLUTION_SPATIAL = {6: "kernel_spatial", 11: "input_spatial", 12: "output_spatial"}
_TRANSFERS = ("send", "send-done", "recv", "recv-done")
#: Fields of WindowDimension, as they stand in a window's tuple.
_WINDOW = {1: 0, 2: 1, 3: 2, 4: 3, 5: 4, 6: 5}


def attributes_of(opcode: str, target: str, data: bytes, rest: Sequence[Field]) -> dict[str, Any]:
    """Attributes of an instruction from the fields that ``Instruction`` has no place for.

    Raises:
        Fault: one of them is damaged.
    """
    found: dict[str, Any] = {}
    dimensions: list[int] = []
    lengths: list[int] = []
    for f in rest:
        if f.number == 14:
            dimensions += map(signed, integers(data, f))
        elif f.number == 15 and f.wire == LENGTH:
            found["window"] = _window(data, f)
        elif f.number == 16 and f.wire == LENGTH:
            found["convolution"] = _convolution(data, f)
        elif f.number == 30 and f.wire == LENGTH:
            found["dot"] = _dot(data, f)
        elif f.number == 32:
            lengths += integers(data, f)
        elif f.number == 50:
            found["feature_groups"] = f.value
        elif f.number == 58:
            found["batch_groups"] = f.value
        elif f.number == 43 and f.wire == LENGTH and opcode in ("custom-call", "fusion"):
            found["backend_config"] = data[f.start : f.end].decode("utf-8", "replace")
        elif f.number == 26 and f.wire == VARINT and opcode in _TRANSFERS:
            found["channel"] = f.value
        elif f.number == 68 and f.wire == LENGTH and opcode in _TRANSFERS:
            found["frontend"] = _texts(data, f)
    if dimensions:
        found["dimensions"] = tuple(dimensions)
    if lengths:
        found["fft_length"] = tuple(lengths)
    return found


def library_dot(backend_config: str) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """(contracting, batch) dimensions of the left operand of a call into a matrix library, None if not told."""
    try:
        config = json.loads(backend_config)
        numbers = config.get("gemm_backend_config", config)["dot_dimension_numbers"]
        contracting = tuple(int(n) for n in numbers["lhs_contracting_dimensions"])
        return contracting, tuple(int(n) for n in numbers.get("lhs_batch_dimensions", ()))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


def _texts(data: bytes, f: Field) -> dict[str, str]:
    """FrontendAttributes: a map of texts."""
    found = {}
    for entry in fields(data, f.start, f.end):
        if entry.number == 1 and entry.wire == LENGTH:
            pair = [f for f in fields(data, entry.start, entry.end) if f.wire == LENGTH]
            named = {f.number: text(data, f.start, f.end) for f in pair}
            found[named.get(1, "")] = named.get(2, "")
    return found


def _dot(data: bytes, f: Field) -> tuple[tuple[int, ...], tuple[int, ...]]:
    contracting: tuple[int, ...] = ()
    batch: tuple[int, ...] = ()
    for inner in fields(data, f.start, f.end):
        if inner.number == 1:
            contracting += tuple(integers(data, inner))
        elif inner.number == 3:
            batch += tuple(integers(data, inner))
    return contracting, batch


def _convolution(data: bytes, f: Field) -> dict[str, Any]:
    found: dict[str, Any] = {
        **dict.fromkeys(_CONVOLUTION.values(), 0),
        **dict.fromkeys(_CONVOLUTION_SPATIAL.values(), ()),
    }
    for inner in fields(data, f.start, f.end):
        if name := _CONVOLUTION.get(inner.number):
            found[name] = inner.value
        elif name := _CONVOLUTION_SPATIAL.get(inner.number):
            found[name] += tuple(integers(data, inner))
    return found


def _window(data: bytes, f: Field) -> tuple[tuple[int, ...], ...]:
    dimensions = []
    for dimension in fields(data, f.start, f.end):
        values = [0, 1, 0, 0, 1, 1]
        for inner in fields(data, dimension.start, dimension.end):
            if inner.number in _WINDOW:
                values[_WINDOW[inner.number]] = signed(inner.value)
        dimensions.append(tuple(values))
        if len(dimensions) > MOST_DIMENSIONS:
            raise Fault
    return tuple(dimensions)
