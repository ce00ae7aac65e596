"""How operators ran, one by one, as a graph or compiled, and whether on the host or on a device."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from stepscope.analysis import intervals
from stepscope.analysis.arguments import ModeArgs, decode
from stepscope.analysis.enclosing import innermost, inside
from stepscope.analysis.groups import Groups
from stepscope.analysis.launches import Links
from stepscope.analysis.select import covered, host_rows
from stepscope.schema import NONE, Events, Kind

MODES = ("eager", "graph", "compiled")

#: An operator that TensorFlow's executor runs, as the executor names it: "scope/name:Type".
GRAPH_OPERATOR = re.compile(r"[\w.][\w./>-]*:_?[A-Z]\w*")
#: TensorFlow runs one operator or one function that Python called, and what Python called.
_EAGER_RUN, _EAGER_CALL = "EagerKernelExecute", "EagerExecute"
#: What torch.compile puts around code that it compiled, and its own work around that.
_COMPILED_REGION = re.compile(
    r"Torch-Compiled Region|TorchDynamo |CompiledFunction|## Call CompiledFxGraph"
    r"|autograd::engine::evaluate_function: CompiledFunction"
)


@dataclass(frozen=True)
class OperatorModes:
    """Time of operators by how and where they ran. A moment of a thread counts once, in the first mode that fits.

    ``eager``: Python called the operator by itself. In TensorFlow an ``EagerKernelExecute`` that runs no function,
    with all that it calls; in PyTorch every operator outside compiled code. ``compiled``: code that XLA or
    torch.compile made. In XPlane files operations with an ``hlo_op``; in PyTorch what lies in a
    ``Torch-Compiled Region``, a ``CompiledFunction`` or its backward. ``graph``: other operators inside of a
    ``tf.function``, those of tf.data included, which TensorFlow's executor runs one by one.

    The operator placement is host time against device time; the eager share of either is its eager time divided by
    the time of all its modes. A wait inside an operator counts as its time.

    Metrics:
        host_eager_ns: host operators that ran eagerly, summed over threads; null where the trace has no host operators
        host_graph_ns: host operators of a graph, summed over threads
        host_compiled_ns: compiled operators on the host, summed over threads
        device_eager_ns: sum of device work launched from eager operators; null without device work
        device_graph_ns: sum of device work launched from operators of a graph
        device_compiled_ns: sum of device work of compiled code
        device_unknown_ns: sum of device work whose launch is not in the trace, or lies in no operator
    """

    host_eager_ns: int | None
    host_graph_ns: int | None
    host_compiled_ns: int | None
    device_eager_ns: int | None
    device_graph_ns: int | None
    device_compiled_ns: int | None
    device_unknown_ns: int | None


def operator_modes(
    events: Events, links: Links, framework: str, around: np.ndarray | None = None
) -> OperatorModes | None:
    """Modes of the operators of one worker; None where there are neither operators nor device work.

    Args:
        framework: that of the worker; it decides which events are operators.
        around: ``operators_around`` the calls of the links, where that is known already.
    """
    if framework != "pytorch":
        events = _with_threads_as_lanes(events)
    rows = host_rows(events, Kind.OP, Kind.DATALOADER)
    slices = _torch_slices(events, rows) if framework == "pytorch" else _xplane_slices(events, rows)
    host = _host_ns(events, slices)
    in_operator = around != NONE if around is not None and framework == "pytorch" else None
    device = _device_ns(events, links, slices, in_operator)
    if host is None and device is None:
        return None
    on_host = {f"host_{mode}_ns": None if host is None else host[mode] for mode in MODES}
    on_device = {f"device_{mode}_ns": None if device is None else device[mode] for mode in (*MODES, "unknown")}
    return OperatorModes(**on_host, **on_device)


def _torch_slices(events: Events, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Rows of each mode, in the order in which they claim time."""
    rows = rows[events.kind[rows] == Kind.OP]
    return {"compiled": rows[_named(events, rows, _COMPILED_REGION)], "graph": rows[:0], "eager": rows}


def _xplane_slices(events: Events, rows: np.ndarray) -> dict[str, np.ndarray]:
    whole = {name: i for i, name in enumerate(events.names)}
    calls = rows[events.name[rows] == whole.get(_EAGER_CALL, NONE)]
    runs = rows[events.name[rows] == whole.get(_EAGER_RUN, NONE)]
    call = innermost(events, calls, runs)
    runs, call = runs[call != NONE], call[call != NONE]
    args, which = decode(events, call, ModeArgs)
    single = np.array([found.is_func == 0 for found in args], bool)
    args, of_row = decode(events, rows, ModeArgs)
    compiled = np.array([isinstance(found.hlo_op, str) for found in args], bool)
    return {
        "eager": runs[single[which]] if len(runs) else runs,
        "compiled": rows[compiled[of_row]] if len(rows) else rows,
        "graph": rows[_named(events, rows, GRAPH_OPERATOR, whole=True)],
    }


def _named(events: Events, rows: np.ndarray, pattern: re.Pattern[str], whole: bool = False) -> np.ndarray:
    match = pattern.fullmatch if whole else pattern.match
    return np.array([match(name) is not None for name in events.names] or [False], bool)[events.name[rows]]


def _with_threads_as_lanes(events: Events) -> Events:
    """The events with one lane a host thread: device calls may come in a plane of their own, under the thread's id."""
    first: dict[tuple[bool, str], int] = {}
    lanes = [first.setdefault((lane.device == NONE, lane.tid or f"lane {i}"), i) for i, lane in enumerate(events.lanes)]
    lanes = [same if events.lanes[i].device == NONE else i for i, same in enumerate(lanes)]
    if lanes == list(range(len(lanes))):
        return events
    return replace(events, lane=np.array(lanes, np.int32)[events.lane])


def _host_ns(events: Events, slices: dict[str, np.ndarray]) -> dict[str, int] | None:
    rows = np.concatenate(list(slices.values()))
    if len(rows) == 0:
        return None
    mode = np.repeat(np.arange(len(slices)), [len(found) for found in slices.values()])
    total = dict.fromkeys(slices, 0)
    threads = Groups(events.lane[rows])
    for i in range(len(threads)):
        own, own_mode = threads.values(i, rows), threads.values(i, mode)
        sets = [covered(events, own[own_mode == m]) for m in range(len(slices))]
        for name, claimed in zip(slices, intervals.exclusive(sets), strict=True):
            total[name] += intervals.length(claimed)
    return total


def _device_ns(
    events: Events, links: Links, slices: dict[str, np.ndarray], eager: np.ndarray | None
) -> dict[str, int] | None:
    """``eager``: which calls of the links lie in an eager operator, where that is known already."""
    work = links.run
    if len(work) == 0:
        return None
    linked = np.flatnonzero(links.call_of_run != NONE)
    call = links.call_of_run[linked]  # of each run that has one
    args, of_work = decode(events, work, ModeArgs)
    compiled = np.array([isinstance(found.hlo_op, str) for found in args], bool)[of_work]
    of_call = np.full(len(links.call), NONE, np.int64)
    for name, rows in slices.items():
        left = np.flatnonzero(of_call == NONE)
        known = eager if name == "eager" else None
        within = inside(events, rows, links.call[left]) if known is None else known[left]
        of_call[left[within]] = MODES.index(name)
    mode = np.full(len(work), NONE, np.int64)
    mode[linked] = of_call[call]
    mode[compiled] = MODES.index("compiled")
    dur = events.dur_ns[work]
    found = {name: int(dur[mode == i].sum()) for i, name in enumerate(MODES)}
    return found | {"unknown": int(dur[mode == NONE].sum())}
