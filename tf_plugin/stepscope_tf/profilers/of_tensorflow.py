"""``tf.profiler.experimental`` as a ``stepscope_tf.profilers.Profiler``.

TensorFlow 2.21 ignores its ``ProfilerOptions`` (recorded options stay the same for every level asked for), so the
cost of a window cannot be lowered by levels: about 13 % on CPU steps of 4 ms, and 1.6 us an event to stop.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

log = logging.getLogger("stepscope")


class TensorFlowProfiler:
    """``tf.profiler.experimental``, of which a process can run one: never stops one that it did not start.

    Args:
        before_rival: called before the script starts a profiler while this one runs.
    """

    suffix = ".xplane.pb"

    def __init__(self, tf: Any, before_rival: Callable[[], None]) -> None:
        from tensorflow.python.profiler import profiler_v2

        self._tf = tf
        self.scope = tf.profiler.experimental.Trace
        self._module = profiler_v2
        self._before_rival = before_rival
        self._session: Any = None  # ours, as TensorFlow keeps it
        self._originals: list[tuple[Any, Any, Any]] = []  # holder, its function, ours in its place

    def start(self, logdir: Path) -> bool:
        """False if another profiler runs."""
        if getattr(self._module, "_profiler", None) is not None:
            return False
        try:
            self._module.start(str(logdir))
        except self._tf.errors.AlreadyExistsError:
            # A session below Python (the profiler server, another library). TensorFlow now keeps a session that
            # never began in the way of every later start; discarding it leaves the other one alone.
            self._module.stop(save=False)
            return False
        self._session = getattr(self._module, "_profiler", None)
        self._watch()
        return True

    def stop(self, save: bool) -> bool:
        """False if ours no longer runs."""
        self._unwatch()
        session, self._session = self._session, None
        if session is None or not self._runs(session):
            return False
        try:
            self._module.stop(save=save)
        except Exception:
            if self._runs(session):
                self._module.stop(save=False)
            raise
        return True

    def step(self, number: int) -> AbstractContextManager[Any]:
        # The name and `_r` are what other tools find a step by; Keras' own batch number restarts each epoch.
        scope: AbstractContextManager[Any] = self.scope("train", step_num=number, _r=1)
        return scope

    def _runs(self, session: Any) -> bool:
        return getattr(self._module, "_profiler", session) is session

    def _watch(self) -> None:
        original = self._module.start

        def start(*args: Any, **kwargs: Any) -> Any:
            try:
                self._before_rival()
            except Exception:  # theirs starts, whatever becomes of ours
                log.debug("the deep window could not be closed", exc_info=True)
            return original(*args, **kwargs)

        for holder in (self._module, self._tf.profiler.experimental):
            if holder.start is original:
                holder.start = start
                self._originals.append((holder, original, start))

    def _unwatch(self) -> None:
        originals, self._originals = self._originals, []
        for holder, original, ours in originals:
            if holder.start is ours:  # else somebody put theirs on top, which calls ours: harmless
                holder.start = original
