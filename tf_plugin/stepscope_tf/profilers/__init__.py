"""The profilers of the frameworks, each with one face. A process can run one session of each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol


class Profiler(Protocol):
    """A framework's profiler; it never stops a session that it did not start. For the training thread."""

    #: How the name of its trace file ends.
    suffix: str

    def start(self, logdir: Path) -> bool:
        """False if another session runs."""

    def stop(self, save: bool) -> bool:
        """End the session, whose trace then lies below the folder that ``start`` got; False if ours no longer runs."""

    def step(self, number: int) -> AbstractContextManager[Any]:
        """Marks a step in the trace."""

    def scope(self, name: str) -> AbstractContextManager[Any]:
        """Marks a region in the trace."""


#: Makes one; called with what is called before the script starts a session of its own while ours runs.
MakeProfiler = Callable[[Callable[[], None]], Profiler]


def of_backend(backend: str) -> MakeProfiler | None:
    """The profiler of a Keras backend, TensorFlow's excepted; None where there is none."""
    if backend == "jax":
        from stepscope_tf.profilers.of_jax import JaxProfiler

        return JaxProfiler
    if backend == "torch":
        from stepscope_tf.profilers.of_torch import TorchProfiler

        return TorchProfiler
    return None
