"""Hardware counters of devices that a profile carries: which, how much, and by which kernels and operators.

Three writers are known, each by its source:

- Kineto's range profiler (``torch.profiler._ExperimentalConfig(profiler_metrics=[...])``): a record a kernel or
  region, with the metrics as its args. It runs each kernel several times and lets the records share the whole time
  evenly, so that their times tell nothing and are not used.
- XLA's samplers of GPUs (NVIDIA and AMD): on the line ``_counters_`` an event without duration a sample and metric.
- What libtpu and XLA's range profiler write: events with a stat ``counter_value``.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field

import numpy as np

from stepscope.analysis.enclosing import innermost
from stepscope.analysis.groups import Groups
from stepscope.analysis.launches import Links
from stepscope.analysis.select import device_of, host_rows
from stepscope.schema import NONE, Events, Kind

#: Lines and stats as tsl/profiler/utils/xplane_schema.cc names them.
SAMPLES_LINE = "_counters_"
VALUE, ID, DESCRIPTION = "counter_value", "performance_counter_id", "performance_counter_description"
#: A metric of NVIDIA's: unit, quantity, roll-up and what it is relative to, "smsp__inst_executed.sum.per_second".
_METRIC = re.compile(r"[a-z0-9]+__\w+(?:\.\w+)*")
#: Of these roll-ups values of several kernels add up.
_ADDS_UP = re.compile(r"\.sum$")
#: Values from here on are damage: counters have 64 bits. Sums of what is below stay finite.
_ABSURD = 1e30
_NO_SUM = re.compile(r"%|\.(?:avg|min|max|ratio|pct|max_rate)\b|pct_of|per_second|per_cycle|utilization|ratio", re.I)


@dataclass(frozen=True)
class DeviceCounter:
    """One hardware counter of a device, over all that the file holds of it.

    Metrics:
        device: ordinal of the device
        counter: its name as the file has it
        label: what the file calls it besides, null where it is the name
        description: what it counts, null where the file does not tell
        unit: percent, bytes, bytes_per_s, cycles, instructions or ns, as its name tells; null where that tells none
        source: range (one value a kernel or region), sample (taken while all ran) or value (read by the runtime)
        samples: values
        sum: of all values; null for shares, rates and means, which do not add up
        mean: mean of the values
        min: smallest value
        max: largest value
    """

    device: int
    counter: str
    label: str | None
    description: str | None
    unit: str | None
    source: str
    samples: int
    sum: float | None
    mean: float
    min: float
    max: float


@dataclass(frozen=True)
class CountedRanges:
    """Counters of a range profiler, by the kernel or region that they are of, or by operator.

    Metrics:
        name: the kernel, as the profiler names it (``__missing__`` is its own word), the region, the line of the file
            that the values are on, or the operator
        ranges: how many were counted
        values: of each counter the sum over these, or the mean where values do not add up
    """

    name: str
    ranges: int
    values: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class CounterValues:
    """Every value; all arrays have one entry a value.

    ``row`` is the event's row, ``counter`` points into ``counters`` and ``source`` into ``SOURCES``. ``number`` is the
    counter's own number (of TPUs; 0 where it has none). ``unusable`` is how many values were left out.
    """

    row: np.ndarray
    device: np.ndarray
    counter: np.ndarray
    value: np.ndarray
    source: np.ndarray
    number: np.ndarray
    counters: list[str]
    labels: dict[int, str]
    descriptions: dict[int, str]
    unusable: int

    def __len__(self) -> int:
        return len(self.row)


SOURCES = ("range", "sample", "value")


def counter_values(events: Events) -> CounterValues:
    """All values that events on devices carry."""
    rows = np.flatnonzero(events.of_kind(Kind.DEVICE_ANNOTATION, Kind.COUNTER) & (events.args != NONE))
    telling = np.array(["__" in text or VALUE in text for text in events.args_values], bool)
    sampled = np.array([lane.name == SAMPLES_LINE and lane.device != NONE for lane in events.lanes], bool)
    rows = rows[telling[events.args[rows]] | sampled[events.lane[rows]]] if len(rows) else rows
    found: list[tuple[int, int, float, int, int]] = []
    counters: dict[str, int] = {}
    labels: dict[int, str] = {}
    descriptions: dict[int, str] = {}
    known: dict[tuple[int, int, bool], list[tuple[int, float, int, int]]] = {}
    unusable = 0
    unusable_of: dict[int, int] = {}
    for row in rows.tolist():
        is_sample = bool(sampled[events.lane[row]])
        key = int(events.args[row]), int(events.name[row]), is_sample
        if key not in known:
            args, name = _object(events.args_values[key[0]]), events.names[key[1]]
            known[key] = out = []
            unusable_of[key[0]] = _unusable(args)
            for counter, value, source, number in _told(args, name, is_sample):
                code = counters.setdefault(counter, len(counters))
                out.append((code, value, SOURCES.index(source), number))
                if source == "sample" and name != counter:
                    labels[code] = name
                if isinstance(text := args.get(DESCRIPTION), str) and text:
                    descriptions[code] = text
        found += [(row, *one) for one in known[key]]
        unusable += unusable_of[key[0]]
    columns = list(zip(*found, strict=True)) or [()] * 5
    in_columns = [
        np.array(column, kind)
        for column, kind in zip(columns, (np.int64, np.int64, np.float64, np.int64, np.uint64), strict=True)
    ]
    at, of, told, origins, numbers = in_columns
    device = device_of(events, at) if len(at) else at
    return CounterValues(at, device, of, told, origins, numbers, list(counters), labels, descriptions, unusable)


def device_counters(found: CounterValues) -> list[DeviceCounter]:
    """By device and counter: those that counted anything first, then by name."""
    groups = Groups(found.device * max(1, len(found.counters)) + found.counter)
    out = []
    of = groups.of
    order = np.argsort(of, kind="stable")
    for i, rows in enumerate(np.split(order, np.cumsum(groups.count)[:-1])):
        device, code = divmod(int(groups.keys[i]), len(found.counters))
        values = found.value[rows].tolist()
        name, label = found.counters[code], found.labels.get(code)
        total = math.fsum(values)
        out.append(
            DeviceCounter(
                device=device,
                counter=name,
                label=label,
                description=found.descriptions.get(code),
                unit=unit_of(name, label),
                source=SOURCES[int(found.source[rows[0]])],
                samples=len(values),
                sum=total if adds_up(name, label) else None,
                mean=total / len(values),
                min=min(values),
                max=max(values),
            )
        )
    return sorted(out, key=lambda one: (one.device, one.max == 0, one.counter))


def ranges_by_kernel(events: Events, found: CounterValues) -> list[CountedRanges]:
    """Values by the name of their range, which is the kernel's or the region's; those that the runtime read by the name
    of their line, one a sample.
    """
    own = np.flatnonzero(found.source != SOURCES.index("sample"))
    row = found.row[own]
    by_line = found.source[own] == SOURCES.index("value")
    lane = events.lane[row]
    names = [
        events.lanes[line].name if of_line else events.names[name]
        for line, name, of_line in zip(lane.tolist(), events.name[row].tolist(), by_line.tolist(), strict=True)
    ]
    return _ranges(found, own, names, np.where(by_line, -1 - lane.astype(np.int64), row))


def ranges_by_operator(events: Events, links: Links, found: CounterValues) -> tuple[list[CountedRanges], str | None]:
    """The same by the innermost operator around the launch of each kernel; else in a sentence why not.

    A range has no number of its launch. The profiler runs kernels one by one in the order of their launch, so that
    the k-th range is that of the k-th launch, if there are as many of both.
    """
    own = np.flatnonzero(found.source == 0)
    if len(own) == 0:  # samples and values are of no kernel
        return [], None
    ranges = np.unique(found.row[own])
    ranges = ranges[np.argsort(events.ts_ns[ranges], kind="stable")]
    calls = host_rows(events, Kind.LAUNCH)
    is_kernel = np.array(["LaunchKernel" in name or "LaunchCooperativeKernel" in name for name in events.names], bool)
    calls = calls[is_kernel[events.name[calls]]] if len(calls) else calls
    calls = calls[np.argsort(events.ts_ns[calls], kind="stable")]
    if len(ranges) != len(calls):
        return [], f"{len(ranges):,} ranges and {len(calls):,} launches of kernels: which is whose is not told."
    operator = innermost(events, host_rows(events, Kind.OP), calls)
    name = ["no operator" if row == NONE else events.names[events.name[row]] for row in operator.tolist()]
    of_range = dict(zip(ranges.tolist(), name, strict=True))
    return _ranges(found, own, [of_range[row] for row in found.row[own].tolist()], found.row[own]), None


def unit_of(name: str, label: str | None = None) -> str | None:
    """What a counter is in, as far as its name tells."""
    text = f"{name} {label or ''}".lower()
    if "pct" in text or "%" in text:
        return "percent"
    if "bytes" in text:
        return "bytes_per_s" if "per_second" in text else "bytes"
    if "per_" in text or ".ratio" in text:
        return None
    if "time_duration" in text:
        return "ns"
    return next((unit for word, unit in (("cycles", "cycles"), ("inst", "instructions")) if word in text), None)


def adds_up(name: str, label: str | None = None) -> bool:
    """Whether values of several ranges, samples or cores have a sum that means something."""
    return _ADDS_UP.search(name) is not None or not _NO_SUM.search(f"{name} {label or ''}")


def _ranges(found: CounterValues, own: np.ndarray, names: list[str], of: np.ndarray) -> list[CountedRanges]:
    """Sums by name of the values ``own``; ``of`` tells which of them are of one range."""
    values: dict[str, dict[int, list[float]]] = {}
    rows: dict[str, set[int]] = {}
    for name, row, code, value in zip(
        names, of.tolist(), found.counter[own].tolist(), found.value[own].tolist(), strict=True
    ):
        values.setdefault(name, {}).setdefault(code, []).append(value)
        rows.setdefault(name, set()).add(row)
    out = [
        CountedRanges(
            name,
            len(rows[name]),
            {
                found.counters[code]: math.fsum(each) / (1 if adds_up(found.counters[code]) else len(each))
                for code, each in sorted(by_counter.items())
            },
        )
        for name, by_counter in values.items()
    ]
    return sorted(out, key=lambda one: (-one.ranges, one.name))


def _told(args: dict, name: str, is_sample: bool) -> list[tuple[str, float, str, int]]:
    """Counter, value, source and number of all that one event carries."""
    if (value := _finite(args.get(VALUE))) is not None:
        number = args.get(ID)
        return [(name, value, "value", number if isinstance(number, int) and 0 <= number < 1 << 63 else 0)]
    source = "sample" if is_sample else "range"
    return [
        (key, value, source, 0)
        for key, each in args.items()
        if (is_sample or _METRIC.fullmatch(key)) and (value := _finite(each)) is not None
    ]


def _unusable(args: dict) -> int:
    """How many values of counters are none that a counter can have."""
    return sum(
        (key == VALUE or _METRIC.fullmatch(key) is not None) and _finite(each) is None for key, each in args.items()
    )


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if abs(number) < _ABSURD else None  # NaN is not


def _object(text: str) -> dict:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
