"""Units of devices whose use hardware counters tell: shares of a peak, FLOPs of CUDA cores, and the units of TPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from stepscope.analysis.device_counters import SOURCES, CounterValues, device_counters
from stepscope.analysis.device_units import device_named
from stepscope.analysis.tpu_units import tpu_units
from stepscope.analysis.unit_row import DeviceUnit, unit_row
from stepscope.schema import Device

_NO_TIME = "Peak not known: the range profiler runs each kernel several times and keeps no duration of it."
#: Instructions of threads, of one precision each; a multiply-add is one instruction and two FLOPs.
_THREAD_OPERATIONS = re.compile(r"smsp__sass_thread_inst_executed_op_[dfh](add|mul|fma)_pred_on\.sum")
#: What a counter's values are of.
_OF_SOURCE = {"range": "kernels or regions", "sample": "samples", "value": "values"}


def counter_units(values: CounterValues, devices: Sequence[Device]) -> list[DeviceUnit]:
    """The units of all devices, device by device."""
    found = (*_shares(values), *_cuda_cores(values), *_tpus(values, devices))
    return sorted(found, key=lambda unit: unit.device)


def _shares(values: CounterValues) -> Iterator[DeviceUnit]:
    """Counters in percent of a peak tell a unit's use by themselves."""
    for counter in device_counters(values):
        if counter.unit == "percent":
            name = counter.label or counter.counter
            basis = f"mean of {counter.samples:,} {_OF_SOURCE[counter.source]}"
            yield unit_row(
                counter.device, counter.counter, name, "percent", counter.mean, 100.0, "counter", basis=basis
            )


def _cuda_cores(values: CounterValues) -> Iterator[DeviceUnit]:
    """What ``kineto__cuda_core_flops`` asks for: additions and multiplications of threads by precision."""
    flops: dict[int, float] = {}
    told = [_THREAD_OPERATIONS.fullmatch(name) for name in values.counters]
    for device, code, source, value in zip(
        values.device.tolist(), values.counter.tolist(), values.source.tolist(), values.value.tolist(), strict=True
    ):
        if (each := told[code]) and SOURCES[source] == "range":
            flops[device] = flops.get(device, 0.0) + value * (2 if each[1] == "fma" else 1)
    for device, total in flops.items():
        basis = "additions, multiplications and, twice, both in one, that threads did; Tensor Cores apart"
        yield unit_row(
            device, "cuda_cores", "FLOPs of CUDA cores", "flop", total, None, "counter", basis=basis, why=_NO_TIME
        )


def _tpus(values: CounterValues, devices: Sequence[Device]) -> Iterator[DeviceUnit]:
    for ordinal in np.unique(values.device).tolist():
        device = device_named(ordinal, devices)
        own = (values.device == ordinal) & (values.number > 0)
        numbers, at = np.unique(values.number[own], return_inverse=True)
        sums = np.bincount(at, values.value[own], len(numbers))
        samples = int(np.bincount(at).max(initial=0))
        basis = f"counters of {samples:,} sample{'s' * (samples != 1)}, by the formulas of xprof"
        for unit in tpu_units(device.name if device else None, dict(zip(numbers.tolist(), sums.tolist(), strict=True))):
            yield unit_row(
                ordinal, unit.name, unit.name, unit.quantity, unit.achieved, unit.peak, "counter", basis=basis
            )
