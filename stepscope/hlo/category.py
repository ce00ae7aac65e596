"""What sort of work an HLO instruction is."""

from __future__ import annotations

from stepscope.hlo.module import Instruction, Module
from stepscope.hlo.opcodes import CONTAINERS, ELEMENTWISE, TRANSCENDENTAL

COLLECTIVES = ("all-reduce", "all-gather", "all-to-all", "collective", "reduce-scatter", "ragged-all-to-all")
_MATRIX = {"dot": "matrix product", "ragged-dot": "matrix product", "convolution": "convolution"}
_FORMATTING = frozenset(["bitcast-convert", "copy", "dynamic-reshape", "reshape", "transpose"])


def category(module: Module, instruction: Instruction) -> str:
    """A matrix product or a convolution, wherever it is: alone, in a fusion, in a library; else the kind of fusion
    (loop, input, output, custom), "data formatting" for copies, transposes and reshapes, "elementwise", "control flow"
    for what runs other operations, "custom call"; else the opcode. An end of an asynchronous operation is named as its
    beginning.
    """
    opcode = instruction.opcode
    if opcode in _MATRIX:
        return _MATRIX[opcode]
    if opcode in ("fusion", "async-start"):
        for called in module.called(instruction):
            for name in ("convolution", "dot", "ragged-dot"):
                if name in called.opcodes:
                    return f"{_MATRIX[name]} fusion"
        kind = instruction.fusion_kind.removeprefix("k").lower()
        return f"{kind} fusion" if kind else "fusion"
    if opcode == "custom-call":
        target = instruction.custom_call_target
        if target.startswith("__cublas$") or target.endswith("$matmul"):
            return "matrix product"
        return "convolution" if "$conv" in target else "custom call"
    if opcode in _FORMATTING:
        return "data formatting"
    if opcode in CONTAINERS:
        return "control flow"
    if opcode in ELEMENTWISE or opcode in TRANSCENDENTAL:
        return "elementwise"
    return opcode.removesuffix("-start").removesuffix("-done").removesuffix("-update")
