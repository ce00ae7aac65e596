"""``jax.profiler`` as a ``stepscope_tf.profilers.Profiler``, for Keras on JAX.

Without JAX's Python tracer, which makes an event of every call and is on by default. Not verified on a GPU.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

log = logging.getLogger("stepscope")


class JaxProfiler:
    """``jax.profiler``; ``before_rival`` is called before the script starts a session while this one runs."""

    suffix = ".xplane.pb"

    def __init__(self, before_rival: Callable[[], None]) -> None:
        import jax

        self._jax = jax.profiler
        self._before_rival = before_rival
        self._session: Any = None  # ours, as JAX keeps it
        self._patched: tuple[Any, Any] | None = None  # its start_trace, ours in its place

    def start(self, logdir: Path) -> bool:
        if self._running() is not None:
            return False
        try:
            self._jax.start_trace(str(logdir), **self._options())
        except RuntimeError as error:
            if "already been started" in str(error):
                return False
            raise
        self._session = self._running()
        self._watch()
        return True

    def stop(self, save: bool) -> bool:
        """JAX knows no end without a file: the caller removes it where it is not to be saved."""
        self._unwatch()
        session, self._session = self._session, None
        if session is None or self._running() is not session:
            return False
        self._jax.stop_trace()
        return True

    def step(self, number: int) -> AbstractContextManager[Any]:
        marker: AbstractContextManager[Any] = self._jax.StepTraceAnnotation("train", step_num=number)
        return marker

    def scope(self, name: str) -> AbstractContextManager[Any]:
        scope: AbstractContextManager[Any] = self._jax.TraceAnnotation(name)
        return scope

    def _running(self) -> Any:
        """The session of this process, whoever's it is."""
        from jax._src import profiler

        return profiler._profile_state.profile_session

    def _options(self) -> dict[str, Any]:
        options = getattr(self._jax, "ProfileOptions", None)
        if options is None:  # before JAX 0.5 or so, which has its Python tracer on in any case
            return {}
        without_python = options()
        without_python.python_tracer_level = 0
        return {"profiler_options": without_python}

    def _watch(self) -> None:
        original = self._jax.start_trace

        def start_trace(*args: Any, **kwargs: Any) -> Any:
            try:
                self._before_rival()
            except Exception:  # theirs starts, whatever becomes of ours
                log.debug("the deep window could not be closed", exc_info=True)
            return original(*args, **kwargs)

        self._jax.start_trace = start_trace
        self._patched = original, start_trace

    def _unwatch(self) -> None:
        patched, self._patched = self._patched, None
        if patched is not None and self._jax.start_trace is patched[1]:  # else theirs on top calls ours: harmless
            self._jax.start_trace = patched[0]
