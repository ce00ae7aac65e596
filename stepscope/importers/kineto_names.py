"""What the categories and names of Kineto and Chrome traces mean: tables and patterns, nothing else."""

from __future__ import annotations

import re

from stepscope.schema import NONE, Kind

#: Lower-case category -> kind. Runtime categories are refined by name (``classify``).
HOST_CATEGORIES: dict[str, Kind] = {
    "cpu_op": Kind.OP,
    "operator": Kind.OP,
    "user_annotation": Kind.ANNOTATION,
    "python_function": Kind.PYTHON,
    "overhead": Kind.OVERHEAD,
    "cpu_instant_event": Kind.ANNOTATION,
    **dict.fromkeys(
        ("runtime", "cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "xpu_runtime", "xpu_driver",
         "mtia_runtime", "glow_runtime", "privateuse1_runtime", "privateuse1_driver"),
        Kind.RUNTIME,
    ),
}  # fmt: skip
DEVICE_CATEGORIES: dict[str, Kind] = {
    "kernel": Kind.KERNEL,
    "gpu_op": Kind.KERNEL,
    "hpu_op": Kind.KERNEL,
    "mtia_ccp_events": Kind.KERNEL,
    "collective_comm": Kind.COLLECTIVE,
    "gpu_memcpy": Kind.MEMCPY,
    "memcpy": Kind.MEMCPY,
    "gpu_memset": Kind.MEMSET,
    "memset": Kind.MEMSET,
    "cuda_sync": Kind.SYNC,
    "xpu_sync": Kind.SYNC,
    "cuda_event": Kind.SYNC,
    "gpu_user_annotation": Kind.DEVICE_ANNOTATION,
    # Hardware counters over a range in which kernels were replayed: its length is no kernel time.
    "cuda_profiler_range": Kind.DEVICE_ANNOTATION,
}
#: Spans and markers of the recorder itself.
RECORDER_CATEGORIES = ("Trace", "trace")
RECORDER_PIDS = ("Traces", "Spans")
RECORDER_MARKERS = ("Record Window End",)

#: The legacy autograd exporter has no categories; its processes tell.
LEGACY_PIDS = {"CPU functions": "cpu_op", "CUDA functions": "kernel"}

STEP_MARKER = re.compile(r"ProfilerStep(?:#(?P<number>\d{1,18})$|[#*])")
_DATALOADER = re.compile(r"enumerate\(DataLoader\)#.*\.__next__")
_MODULE = re.compile(r"nn\.Module: ")
_OPERATOR = re.compile(r"\w+::\w")

#: Calls that put work on a device queue. A host function and the building of a graph do not.
_LAUNCH = re.compile(
    r"(?!.*HostFunc)(?!(?:cuda|cu|hip)Graph(?!Launch))"
    r"(?:.*Launch|(?:cuda|cu|hip|mu|musa)(?:Memcpy|Memset)|(?:ur|pi)Enqueue(?:USM|Mem|Kernel)|zeCommandListAppendMem)"
)
_SYNC = re.compile(
    r".*(?:Synchronize|StreamWaitEvent|StreamWaitValue|EventQuery|StreamQuery|urEventWait|urQueueFinish)"
)

#: Names of synchronisation records on device lanes, whatever their category.
_SYNC_RECORDS = frozenset({"Event Sync", "Stream Sync", "Stream Wait Event", "Context Sync", "Device Sync"})

#: Device functions of communication libraries: NCCL (old, current, symmetric), RCCL, MSCCL(++), HCCL, gloo.
#: Anchored: a user's kernel may hold "nccl" in its name, and hipblasLt kernels hold nearly anything.
_COLLECTIVE = re.compile(
    r"(?:void )?(?:\w+::)?(?:"
    r"nccl(?:Dev)?Kernel|ncclSym|"
    r"nccl(?:AllReduce|AllGather|ReduceScatter|Reduce|Broadcast|SendRecv|AllToAll)\w*Kernel|"
    r"rccl[A-Z_]|msccl(?:pp)?(?:Kernel|::|_)|hccl[A-Z_]|hcom_|gloo(?:::|[A-Z_])"
    r")"
)


def classify(category: str, name: str, instant: bool) -> tuple[Kind, bool]:
    """The kind of an event, and whether it lies on a device lane."""
    category = category.lower()
    if category not in HOST_CATEGORIES and category not in DEVICE_CATEGORIES:
        known = (c for c in category.split(",") if c in HOST_CATEGORIES or c in DEVICE_CATEGORIES)
        category = next(known, category)
    if category in DEVICE_CATEGORIES:
        return _device_kind(DEVICE_CATEGORIES[category], name), True
    if instant:
        return (Kind.MEMORY if name == "[memory]" else Kind.ANNOTATION), False
    return _host_kind(HOST_CATEGORIES.get(category), category, name), False


def step_number(name: str) -> int:
    """The number of a step marker, ``NONE`` where it has none (``ProfilerStep*``)."""
    match = STEP_MARKER.match(name)
    return int(match["number"]) if match and match["number"] else NONE


def _device_kind(kind: Kind, name: str) -> Kind:
    if kind is not Kind.KERNEL:
        return kind
    if name in _SYNC_RECORDS:
        return Kind.SYNC
    return Kind.COLLECTIVE if _COLLECTIVE.match(name) else Kind.KERNEL


def _host_kind(kind: Kind | None, category: str, name: str) -> Kind:
    if kind is Kind.RUNTIME:
        if _SYNC.match(name):
            return Kind.SYNC
        return Kind.LAUNCH if _LAUNCH.match(name) else Kind.RUNTIME
    if kind is Kind.PYTHON:
        return Kind.MODULE if _MODULE.match(name) else Kind.PYTHON
    if STEP_MARKER.match(name):
        return Kind.STEP
    if _DATALOADER.match(name):
        return Kind.DATALOADER
    if kind is None:
        return Kind.OP if not category and _OPERATOR.match(name) else Kind.OTHER
    return kind
