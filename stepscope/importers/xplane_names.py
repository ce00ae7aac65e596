"""What planes, lines, events and stats of an XSpace mean: tables and patterns, nothing else.

Known layouts: a TensorFlow CPU file and JAX on AMD as recorded, and NVIDIA by the source of its collector
(xla/backends/profiler/gpu/cupti_collector.cc).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from stepscope.importers.kineto_names import classify
from stepscope.schema import NONE, REQUEST_NAME, Kind

DEVICE_PLANE = re.compile(r"/device:(?P<type>[A-Za-z]+):(?P<ordinal>\d{1,6})")
ENVIRONMENT_PLANE = "Task Environment"

CORRELATION = "correlation_id"
STEP_NUMBER = "step_num"
ROOT = "_r"
#: The value of ``ROOT`` with which users mark the begin of a request. 1 marks steps and function roots.
USER_ROOT = -1
KERNEL_DETAILS, MEMCPY_DETAILS, MEMSET_DETAILS = "kernel_details", "memcpy_details", "memset_details"
#: Sizes of an allocation, the first that is there.
ALLOCATION_BYTES = ("allocation_bytes", "requested_bytes", "num_bytes", "bytes")
FREE = "MemoryDeallocation"

#: The line and the stat by which values of hardware counters come (tsl/profiler/utils/xplane_schema.cc).
COUNTER_LINE, COUNTER_VALUE = "_counters_", "counter_value"

#: Marks of region borders in thread pools: zero long, over half of the events of a CPU file.
DROPPED_INSTANTS = "ThreadpoolListener::"

#: Lines of a device plane that hold device work; the rest are views derived from them.
_WORK_LINE = re.compile(r"Stream\b|(?:Async )?XLA Ops")
#: The loop fetches a batch. The stages of tf.data (``Iterator::*``) are operators: most run in the background,
#: beside compute, and as "data loader" they would claim steps that never wait.
_DATALOADER = re.compile(r"IteratorGetNext")
_MEMORY = re.compile(r"Memory(?:Allocation|Deallocation)$")
_DEVICE_API = re.compile(r"(?:cu|cuda|hip)[A-Z]")
_COPY = re.compile(r"mem(?:cpy|set)", re.IGNORECASE)
#: "size:" in copies, "num_bytes:" in fills.
_SIZE = re.compile(r"\b(?:size|num_bytes):(\d{1,18})")
_TENSORFLOW = re.compile(r"tf_Compute|tf_data|TFE_|EagerExecute|ExecutorState::|Iterator::")
_JAX = re.compile(r"py_xla|PjRt|Pjit|pjit|jit_|jax")


def device_kind(line: str, name: str, details: set[str]) -> Kind:
    """The kind of an event on a device plane; ``details`` are those of the three ``*_DETAILS`` it has."""
    if line == COUNTER_LINE:
        return Kind.COUNTER
    if MEMCPY_DETAILS in details:
        return Kind.MEMCPY
    if MEMSET_DETAILS in details:
        return Kind.MEMSET
    if not details:
        if not _WORK_LINE.match(line):
            return Kind.DEVICE_ANNOTATION
        if copy := _COPY.match(name):
            return Kind.MEMSET if copy.group().lower() == "memset" else Kind.MEMCPY
    return classify("kernel", name, instant=False)[0]


def host_kind(plane: str, name: str, is_step: bool, has_correlation: bool, is_user_root: bool) -> Kind:
    """The kind of an event on a host plane.

    The user's own regions look like operators, but for those that stand for a request: by their name, or as roots.
    """
    if is_step:
        return Kind.STEP
    if is_user_root or REQUEST_NAME.fullmatch(name):
        return Kind.ANNOTATION
    if "python-tracer" in plane or name.startswith("$"):
        return Kind.PYTHON
    if "nvtx" in plane.lower():
        return Kind.ANNOTATION
    if has_correlation or _DEVICE_API.match(name):
        return classify("cuda_runtime", name, instant=False)[0]
    if _DATALOADER.match(name):
        return Kind.DATALOADER
    if _MEMORY.match(name):
        return Kind.MEMORY
    return Kind.OP


def detail_bytes(details: str) -> int:
    """The bytes that the text of ``memcpy_details`` or ``memset_details`` tells, ``NONE`` if none."""
    match = _SIZE.search(details)
    return int(match[1]) if match else NONE


def framework_of(line_names: Iterable[str], event_names: Iterable[str]) -> str:
    """``tensorflow``, ``jax`` or ``unknown``, by the runtime whose events are there."""
    is_jax = False
    for name in (*line_names, *event_names):
        if _TENSORFLOW.match(name):
            return "tensorflow"
        is_jax |= bool(_JAX.match(name))
    return "jax" if is_jax else "unknown"
