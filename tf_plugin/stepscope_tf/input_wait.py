"""How long Keras' train function waits for its batch, on TensorFlow: two timestamps in its graph.

Keras takes the batch inside the function that it compiles, so no callback can see the wait. While that function
is traced, the iterator's ``get_next`` is replaced by one that adds a timestamp op before and after it; both land
in a ring that is read every so many calls (a read costs 27 us here, more than the rest). Keras' own graph stays
as it is but for the order, and so do all results. The timestamps have a resolution of 1 us.

With ``steps_per_execution`` above 1 this is not done: there TensorFlow fetches the next batch while it computes,
so the time inside ``get_next`` is no wait (10 steps of 10 ms and fetches of 10 ms: 17 ms a step, not 20).
"""

from __future__ import annotations

import itertools
import logging
import os
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from threading import get_ident
from time import perf_counter_ns
from typing import Any

import numpy as np

#: Calls whose timestamps the ring holds.
SLOTS = 1024

log = logging.getLogger("stepscope")

_numbers = itertools.count()
#: The probe of each train function whose graph has timestamps, also after the callback that put them there.
_probes: weakref.WeakKeyDictionary[Any, InputProbe] = weakref.WeakKeyDictionary()
#: The probe whose train function runs right now, in the thread that the probe names.
_running: InputProbe | None = None


@dataclass(frozen=True)
class Waits:
    """When some calls waited for their batch, in their order: those that ran op by op, then those of a graph."""

    eager: list[tuple[int, int]]  # perf_counter ns
    stamps: np.ndarray  # (calls, 2), Unix seconds

    def __len__(self) -> int:
        return len(self.eager) + len(self.stamps)

    def in_ns(self, unix_offset_ns: int) -> list[tuple[int, int]]:
        """Begins and ends as ``perf_counter_ns`` readings; Unix time is ``unix_offset_ns`` more than those."""
        # Whole microseconds fit a float exactly; nanoseconds would not.
        stamps = np.rint(self.stamps * 1e6).astype(np.int64) * 1000 - unix_offset_ns
        return self.eager + [(begin, end) for begin, end in stamps.tolist()]


NO_WAITS = Waits([], np.empty((0, 2)))


class InputProbe:
    """The timestamps of one train function."""

    def __init__(self, tf: Any) -> None:
        self._tf = tf
        self._thread = 0
        self._nested = False
        self._taken = 0  # calls whose timestamps were taken
        self._calls = 0  # those that began since then
        self._is_traced = False  # the latest of them was, and is compiled before it waits for anything
        self._is_waiting = False  # where the function runs op by op
        self._eager: list[tuple[int, int]] = []  # perf_counter ns, where the function runs op by op
        # Raw handles rather than tf.Variable: a distribution strategy would mirror that, and trackers would save it.
        # They live as long as the process, since a graph that uses them may.
        self._ring = self._variable("stamps", tf.float64, [SLOTS, 2])
        self._count = self._variable("count", tf.int64, [])

    def _variable(self, what: str, dtype: Any, shape: list[int]) -> Any:
        tf = self._tf
        name = f"stepscope_input_{what}_{os.getpid()}_{next(_numbers)}"
        with tf.init_scope(), tf.device("/device:CPU:0"):
            handle = tf.raw_ops.VarHandleOp(dtype=dtype, shape=shape, shared_name=name)
            tf.raw_ops.AssignVariableOp(resource=handle, value=tf.zeros(shape, dtype))
        return handle

    def enter(self) -> None:
        """The train function is called now, in this thread."""
        global _running
        self._thread = get_ident()
        self._calls += 1
        self._is_traced = False
        _running = self

    def leave(self) -> None:
        global _running
        _running = None

    def waits(self) -> bool | None:
        """Whether the call that runs still waits for its batch; None where that cannot be told. For any thread."""
        if self._is_waiting or self._eager:
            return self._is_waiting
        tf = self._tf
        with tf.device("/device:CPU:0"):
            got = int(tf.raw_ops.ReadVariableOp(resource=self._count, dtype=tf.int64).numpy()) - self._taken
        return False if got == self._calls else True if got == self._calls - 1 and not self._is_traced else None

    def take(self) -> Waits:
        """When the calls since the last ``take`` waited.

        A call whose graph has no timestamps leaves none, and more than ``SLOTS`` calls leave none at all.
        """
        tf = self._tf
        eager, self._eager = self._eager, []
        self._calls = 0
        count = int(tf.raw_ops.ReadVariableOp(resource=self._count, dtype=tf.int64).numpy())
        first, self._taken = self._taken, count
        if not 0 < count - first <= SLOTS:
            return Waits(eager, NO_WAITS.stamps)
        ring = tf.raw_ops.ReadVariableOp(resource=self._ring, dtype=tf.float64).numpy()
        return Waits(eager, ring[np.arange(first, count) % SLOTS])

    def around(self, get_next: Callable[[], Any]) -> Any:
        """``get_next()`` with timestamps around it: as ops in a graph, else as readings of the clock."""
        if self._nested or self._thread != get_ident():
            return get_next()
        self._nested = True
        try:
            return self._timed(get_next) if self._tf.executing_eagerly() else self._traced(get_next)
        finally:
            self._nested = False

    def _timed(self, get_next: Callable[[], Any]) -> Any:
        began = perf_counter_ns()
        self._is_waiting = True
        try:
            batch = get_next()
        finally:
            self._is_waiting = False
        self._eager.append((began, perf_counter_ns()))
        return batch

    def _traced(self, get_next: Callable[[], Any]) -> Any:
        tf = self._tf
        self._is_traced = True
        try:
            with tf.device("/device:CPU:0"):
                begin = tf.timestamp()
            after_begin = tf.control_dependencies([begin])
        except Exception:
            log.warning("stepscope cannot time the input of this train function", exc_info=True)
            return get_next()
        with after_begin:
            batch = get_next()
        try:
            tensors = [t for t in tf.nest.flatten(batch, expand_composites=True) if tf.is_tensor(t)]
            with tf.control_dependencies(tensors), tf.device("/device:CPU:0"):
                stamps = tf.stack([begin, tf.timestamp()])
                slot = tf.raw_ops.ReadVariableOp(resource=self._count, dtype=tf.int64) % SLOTS
                kept = tf.raw_ops.ResourceScatterUpdate(resource=self._ring, indices=slot, updates=stamps)
                counted = tf.raw_ops.AssignAddVariableOp(resource=self._count, value=tf.ones([], tf.int64))
            # What computes comes after the stamp: where TensorFlow has one thread for operators (on one core) it ran
            # first, and a step of 800 ms whose batch was there at once was told to wait for 790 ms.
            with tf.control_dependencies([kept, counted]):
                return tf.nest.map_structure(
                    lambda part: tf.identity(part) if tf.is_tensor(part) else part, batch, expand_composites=True
                )
        except Exception:
            log.warning("stepscope cannot time the input of this train function", exc_info=True)
        return batch


def probe_of(function: Any) -> InputProbe | None:
    """The probe of a train function, if it has one."""
    try:
        return _probes.get(function)
    except TypeError:  # no weak references: a function of the user's own kind
        return None


def attach(function: Any, tf: Any) -> InputProbe | None:
    """The probe of a train function, made if it has none; None where it cannot have one."""
    probe = probe_of(function)
    if probe is None:
        try:
            probe = _probes[function] = InputProbe(tf)
        except TypeError:
            return None
    return probe


class IteratorPatch:
    """Replaces ``get_next`` of TensorFlow's iterators; costs an attribute read where no probed function runs."""

    def __init__(self) -> None:
        self._patched: list[tuple[type, str, Any, Any]] = []  # class, name, original, ours

    @property
    def is_installed(self) -> bool:
        return bool(self._patched)

    def install(self) -> None:
        from tensorflow.python.data.ops.iterator_ops import OwnedIterator
        from tensorflow.python.distribute.input_lib import DistributedIteratorBase

        # Keras before 3.8 or so calls next() in its graph, later ones get_next(); neither calls the other.
        for owner, name in (
            (OwnedIterator, "get_next"),
            (OwnedIterator, "__next__"),
            (DistributedIteratorBase, "get_next"),
        ):
            original = owner.__dict__[name]
            ours = _with_probe(original)
            setattr(owner, name, ours)
            self._patched.append((owner, name, original, ours))

    def remove(self) -> None:
        patched, self._patched = self._patched, []
        for owner, name, original, ours in patched:
            if owner.__dict__.get(name) is ours:  # else somebody put theirs on top; ours is inert without a probe
                setattr(owner, name, original)


def _with_probe(original: Callable[..., Any]) -> Callable[..., Any]:
    def get_next(self: Any, *args: Any, **kwargs: Any) -> Any:
        probe = _running
        if probe is None:
            return original(self, *args, **kwargs)
        return probe.around(lambda: original(self, *args, **kwargs))

    return get_next
