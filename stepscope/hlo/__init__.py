"""What XLA compiled: the programs (HLO modules) that an XPlane file carries, read without a protobuf runtime."""

from stepscope.hlo.module import Computation, Instruction, Module, read_module
from stepscope.hlo.shapes import Shape

__all__ = ["Computation", "Instruction", "Module", "Shape", "read_module"]
