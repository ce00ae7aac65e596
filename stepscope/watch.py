"""What is open right now, kept in worker.json, so that a hang or a kill in the middle of a long step can be told.

Steps reach the stream when they end. A training that hangs, or is killed in a step of minutes, would leave nothing
about it: the writer thread therefore looks what the training is at, and notes what has been open for a while, later
with the training thread's stack. It also renews the time of worker.json now and then, as a sign of life.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns

from stepscope.recorder import Recorder

#: Seconds for which something must have been open to be noted, and to be noted with a stack.
NOTED_AFTER_S = 1.0
STACK_AFTER_S = 10.0
#: Seconds between two signs of life.
BEAT_S = 4.0
_MAX_FRAMES = 40


@dataclass(frozen=True)
class Activity:
    """What a training does: the step, its open phase (None between phases), since when (perf_counter ns, or None)."""

    step: int | None
    phase: str | None
    since_ns: int | None


class Watch:
    """Looks at what ``activity()`` tells; ``thread()`` is the ident of the training thread."""

    def __init__(self, recorder: Recorder, activity: Callable[[], Activity], thread: Callable[[], int]) -> None:
        self._recorder = recorder
        self._activity = activity
        self._thread = thread
        self._latest: Activity | None = None
        self._seen_ns = 0  # when the latest was first seen
        self._noted = 0  # how much of it is told: 1 that it is open, 2 its stack too
        self._beat_s = time.monotonic()

    def look(self) -> None:
        """To be called after each write by the writer thread."""
        now = perf_counter_ns()
        activity = self._activity()
        if activity != self._latest:
            self._latest, self._seen_ns, self._noted = activity, now, 0
        open_s = (now - (activity.since_ns or self._seen_ns)) / 1e9
        due = 2 if open_s >= STACK_AFTER_S else 1 if open_s >= NOTED_AFTER_S else 0
        if due > self._noted:
            self._noted = due
            self._note(activity, self._stack() if due == 2 else None)
        self._beat()

    def close(self) -> None:
        """The recording ends in order: nothing is open."""
        self._recorder.update_meta(open=None)

    def _note(self, activity: Activity, stack: list[str] | None) -> None:
        since_ns = self._recorder.clock.to_unix(activity.since_ns or self._seen_ns)
        self._recorder.update_meta(
            open={"step": activity.step, "phase": activity.phase, "since_ns": since_ns, "stack": stack}
        )

    def _stack(self) -> list[str] | None:
        """The training thread's calls, the innermost last; None where it is gone."""
        frame = sys._current_frames().get(self._thread())
        if frame is None:
            return None
        frames = traceback.extract_stack(frame)[-_MAX_FRAMES:]
        return [f"{entry.filename}:{entry.lineno} in {entry.name}" for entry in frames]

    def _beat(self) -> None:
        folder = self._recorder.folder
        if folder is not None and self._recorder.meta["ended_ns"] is None and time.monotonic() - self._beat_s >= BEAT_S:
            self._beat_s = time.monotonic()
            os.utime(folder.path / "worker.json")
