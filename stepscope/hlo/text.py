"""Instructions as HLO text, near to what XLA prints: shape, operands, what is called, and where it comes from."""

from __future__ import annotations

from stepscope.hlo.module import Computation, Instruction, Module

#: Operands, and what is called, that are written out.
_OPERANDS = 16


def expression(module: Module, computation: Computation, instruction: Instruction) -> str:
    """One instruction on one line, without its literals and layouts of operands."""
    operands = computation.operands(instruction)
    listed = [f"%{each.name}" if each else "?" for each in operands[:_OPERANDS]]
    if len(operands) > _OPERANDS:
        listed.append(f"... {len(operands) - _OPERANDS} more")
    if instruction.opcode == "parameter":
        listed = [str(instruction.parameter_number)]
    parts = [f"%{instruction.name} = {instruction.shape.text} {instruction.opcode}({', '.join(listed)})"]
    if instruction.fusion_kind:
        parts.append(f"kind={instruction.fusion_kind}")
    if instruction.custom_call_target:
        parts.append(f'custom_call_target="{instruction.custom_call_target}"')
    if instruction.opcode == "get-tuple-element":
        parts.append(f"index={instruction.tuple_index}")
    if dimensions := instruction.attributes.get("dimensions"):
        parts.append(f"dimensions={{{','.join(map(str, dimensions))}}}")
    parts += [f"calls=%{each.name}" for each in module.called(instruction)[:_OPERANDS]]
    return ", ".join(parts)
