"""Members of event args that analyses read, decoded once for each distinct text."""

from __future__ import annotations

from typing import TypeVar

import msgspec
import numpy as np
from msgspec import Raw

from stepscope.schema import NONE, Events

S = TypeVar("S", bound=msgspec.Struct)
_INT64 = range(-(2**63), 2**63)
_DAMAGE = (msgspec.DecodeError, RecursionError, UnicodeError)


class OperatorArgs(msgspec.Struct, gc=False):
    """What Kineto writes about an operator. Members of any type, since files may be damaged."""

    sequence: object = msgspec.field(name="Sequence number", default=None)
    forward_thread: object = msgspec.field(name="Fwd thread id", default=None)
    shapes: Raw = msgspec.field(name="Input Dims", default=Raw(b""))
    types: Raw = msgspec.field(name="Input type", default=Raw(b""))
    concrete: Raw = msgspec.field(name="Concrete Inputs", default=Raw(b""))
    stack: object = msgspec.field(name="Call stack", default=None)


class KernelArgs(msgspec.Struct, gc=False):
    """What Kineto and XPlane write about the resources of a kernel."""

    registers: object = msgspec.field(name="registers per thread", default=None)
    shared: object = msgspec.field(name="shared memory", default=None)
    details: object = msgspec.field(name="kernel_details", default=None)


class MemoryArgs(msgspec.Struct, gc=False):
    """What Kineto and XPlane write about an allocation or a free."""

    address: object = msgspec.field(name="Addr", default=None)
    allocated: object = msgspec.field(name="Total Allocated", default=None)
    reserved: object = msgspec.field(name="Total Reserved", default=None)
    xla_address: object = msgspec.field(name="addr", default=None)
    xla_allocated: object = msgspec.field(name="bytes_allocated", default=None)
    allocator: object = msgspec.field(name="allocator_name", default=None)


class QueueArgs(msgspec.Struct, gc=False):
    """What the hook writes about a phase on a device."""

    queue_ns: object = None


class ScopeArgs(msgspec.Struct, gc=False):
    """What XPlane writes about where in the model a kernel comes from."""

    name: object = None
    tf_op: object = None


class ModeArgs(msgspec.Struct, gc=False):
    """What XPlane writes about how an operator came to run: by itself or as a function, and out of which program."""

    is_func: object = None
    hlo_op: object = None


class RequestArgs(msgspec.Struct, gc=False):
    """What XPlane writes about a request: which it is, and whether the user marks its begin."""

    root: object = msgspec.field(name="_r", default=None)
    request_id: object = None
    id: object = None
    model_id: object = None


class BatchArgs(msgspec.Struct, gc=False):
    """What TensorFlow writes about a batch of requests, and about what is put into one."""

    before: object = msgspec.field(name="batch_size_before_padding", default=None)
    padded: object = msgspec.field(name="batch_size_after_padding", default=None)
    padding: object = msgspec.field(name="padding_amount", default=None)
    size: object = None
    input_size: object = msgspec.field(name="batching_input_task_size", default=None)


def decode(events: Events, rows: np.ndarray, members: type[S]) -> tuple[list[S], np.ndarray]:
    """The distinct args of some rows, and for each row the index of its own. Rows without args have empty ones."""
    code = events.args[rows]
    seen = np.zeros(len(events.args_values) + 1, bool)  # the last stands for NONE
    seen[code] = True
    number = np.cumsum(seen) - 1
    texts = [events.args_values[i] for i in np.flatnonzero(seen[:-1]).tolist()]
    found = _decode_all(texts, members)
    if seen[NONE]:
        found.append(members())
    return found, number[code]


def integers(values: list[object]) -> np.ndarray:
    """Integers as int64, ``NONE`` for what is none or does not fit."""
    return np.array([v if type(v) is int and v in _INT64 else NONE for v in values], dtype=np.int64)


def _decode_all(texts: list[str], members: type[S]) -> list[S]:
    try:
        return msgspec.json.decode("[" + ",".join(texts) + "]", type=list[members])  # type: ignore[valid-type]
    except _DAMAGE:
        return [_decode_one(text, members) for text in texts]


def _decode_one(text: str, members: type[S]) -> S:
    try:
        return msgspec.json.decode(text, type=members)
    except _DAMAGE:
        return members()
