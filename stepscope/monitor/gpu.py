"""GPU utilisation and memory over NVML (``nvidia-ml-py``, the driver's own library; no CUDA context).

Not run on hardware with several GPUs or MIG yet: the tests replay recorded answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stepscope.monitor.sampler import Value
from stepscope.schema import Notes


def open_nvml() -> Any | None:
    """The initialised ``pynvml`` module, or None where there is no NVIDIA driver."""
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # no package, no library, no driver, no permission: no GPU metrics
        return None
    return pynvml


class GpuSource:
    """``gpu``, ``gpu_memory_used`` and ``gpu_memory_total`` of every GPU that NVML lists.

    A metric that a GPU does not support (utilisation under MIG) is left out for that GPU and noted once; a
    passing error costs its sample only.
    """

    def __init__(self, nvml: Any, notes: Notes) -> None:
        self._nvml = nvml
        self._notes = notes
        self._reads: list[tuple[int, Callable[[], list[Value]]]] = []
        for index in range(nvml.nvmlDeviceGetCount()):
            try:
                handle = nvml.nvmlDeviceGetHandleByIndex(index)
            except nvml.NVMLError as error:
                notes.add("gpu_not_readable", f"GPU {index} cannot be read ({error}); it has no samples.")
                continue
            self._reads.append((index, self._utilization_of(handle, index)))
            self._reads.append((index, self._memory_of(handle, index)))

    def sample(self, now_ns: int) -> list[Value]:
        nvml = self._nvml
        values: list[Value] = []
        for gpu_and_read in list(self._reads):
            index, read = gpu_and_read
            try:
                values += read()
            except (nvml.NVMLError_NotSupported, nvml.NVMLError_NoPermission, nvml.NVMLError_GpuIsLost) as error:
                self._reads.remove(gpu_and_read)
                self._notes.add("gpu_metric_absent", f"GPU {index} does not give one of its metrics ({error}).")
            except nvml.NVMLError:
                continue
        return values

    def _utilization_of(self, handle: Any, index: int) -> Callable[[], list[Value]]:
        def read() -> list[Value]:
            percent = self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu
            return [("gpu", index, percent / 100)]

        return read

    def _memory_of(self, handle: Any, index: int) -> Callable[[], list[Value]]:
        def read() -> list[Value]:
            memory = self._nvml.nvmlDeviceGetMemoryInfo(handle)
            return [
                ("gpu_memory_used", index, float(memory.used)),
                ("gpu_memory_total", index, float(memory.total)),
            ]

        return read
