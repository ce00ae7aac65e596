"""NVML from recorded answers: the hardware is not here."""

from types import SimpleNamespace

from stepscope.monitor.gpu import GpuSource
from stepscope.schema import Notes


class Nvml:
    """Plays the part of ``pynvml``: an answer that is an exception is raised."""

    class NVMLError(Exception):
        pass

    class NVMLError_NotSupported(NVMLError):
        pass

    class NVMLError_NoPermission(NVMLError):
        pass

    class NVMLError_GpuIsLost(NVMLError):
        pass

    def __init__(self, *gpus):
        self.gpus = gpus

    def nvmlDeviceGetCount(self):
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index):
        return answer(self.gpus[index].get("handle", index))

    def nvmlDeviceGetUtilizationRates(self, handle):
        return SimpleNamespace(gpu=answer(self.gpus[handle]["percent"]))

    def nvmlDeviceGetMemoryInfo(self, handle):
        used, total = answer(self.gpus[handle]["memory"])
        return SimpleNamespace(used=used, total=total)


def answer(value):
    if isinstance(value, list):
        value = value.pop(0)
    if isinstance(value, Exception):
        raise value
    return value


H200 = {"percent": 37, "memory": (12_345_344, 150_754_820_096)}


def test_utilisation_is_a_ratio_and_memory_bytes():
    assert GpuSource(Nvml(H200), Notes()).sample(0) == [
        ("gpu", 0, 0.37),
        ("gpu_memory_used", 0, 12_345_344.0),
        ("gpu_memory_total", 0, 150_754_820_096.0),
    ]


def test_what_one_gpu_does_not_support_is_absent_for_it_and_noted_once():
    notes = Notes()
    mig = {"percent": Nvml.NVMLError_NotSupported("Not Supported"), "memory": (1, 2)}
    source = GpuSource(Nvml(mig, H200), notes)
    for _ in range(3):
        assert [(metric, index) for metric, index, _ in source.sample(0)] == [
            ("gpu_memory_used", 0),
            ("gpu_memory_total", 0),
            ("gpu", 1),
            ("gpu_memory_used", 1),
            ("gpu_memory_total", 1),
        ]
    [note] = notes.list()
    assert (note.code, note.count) == ("gpu_metric_absent", 1)


def test_a_passing_error_costs_one_sample():
    flaky = {"percent": [10, Nvml.NVMLError("Timeout"), 30], "memory": (1, 2)}
    notes = Notes()
    source = GpuSource(Nvml(flaky), notes)
    samples = [{m: v for m, _, v in source.sample(0)}.get("gpu") for _ in range(3)]
    assert samples == [0.1, None, 0.3]
    assert notes.list() == []


def test_a_gpu_that_cannot_be_opened_leaves_the_others():
    notes = Notes()
    source = GpuSource(Nvml({"handle": Nvml.NVMLError_NoPermission("Insufficient Permissions")}, H200), notes)
    assert {index for _, index, _ in source.sample(0)} == {1}
    assert [n.code for n in notes.list()] == ["gpu_not_readable"]
