"""The PyTorch hook of stepscope."""

from stepscope_torch.profiler import Profiler
from stepscope_torch.schedule import Schedule

__all__ = ["Profiler", "Schedule"]
