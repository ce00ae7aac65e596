"""The process that converts a deep window, as the training starts it: such that no step becomes longer by it.

Where a training keeps all cores busy, threads that compute together wait for the slowest of them. A process that takes
one's core for some milliseconds at a time makes a step of 25 ms last 300 (2 threads on 2 cores). What keeps it away:

- Its scheduling class is the idle one, whose tasks run where nothing else wants to; of a core that others keep busy it
  gets 0.3 %, a tick of 4 ms in 1.4 s. Niceness 10 alone still made steps 1.5 to 4.5 times as long.
- It stays in the training's session. Linux shares the CPU between sessions first (``sched_autogroup``), so that in one
  of its own every priority is without effect.
- It starts while the profiler stops, when the training computes nothing, and reads its libraries meanwhile. Without
  ``site``, which it reads later as one of them, it is there after 12 ms instead of 32.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stepscope import pace
from stepscope.child import OUT_OF_REACH, Child, child_environment, lower_priority
from stepscope.convert import ON_DEMAND, waiting_note

#: A killed process of the idle class is seldom scheduled, too. It runs no code any more, and a longer wait of the
#: writer thread would put more than the last second at stake.
_END_S = 0.5
#: Seconds within which a process starts and comes to its first rest, where it gets a core.
_BOOT_S = 0.03


class Converter(Child):
    """A child that waits for its work. End it if there is none.

    Args:
        folder: where it runs.
        gives_way: whether it runs only where the training, and whatever else, leaves a core idle.

    Raises:
        OSError: it could not be started.
    """

    def __init__(self, folder: Path, gives_way: bool = True) -> None:
        self._at_rest, tells = os.pipe()
        try:
            super().__init__(
                [sys.executable, "-S", pace.__file__, str(tells)],
                "the converter",
                subprocess.PIPE,
                cwd=folder,
                env=child_environment(),
                pass_fds=[tells],
                **OUT_OF_REACH,
            )
        except OSError:
            os.close(self._at_rest)
            raise
        finally:
            os.close(tells)
        weakref.finalize(self, os.close, self._at_rest)
        if gives_way:
            lower_priority(self.pid)  # where there is no idle class
            with contextlib.suppress(OSError, AttributeError):  # not Linux
                os.sched_setscheduler(self.pid, os.SCHED_IDLE, os.sched_param(0))

    def tell(self, work: Mapping[str, Any]) -> None:
        """What it has to do. Where it does not listen any more, ``error`` says why."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended
            self._process.stdin.write(json.dumps(work).encode() + b"\n")
            self._process.stdin.flush()

    def wait_for_rest(self, timeout_s: float) -> None:
        """Until it has begun to rest, or has ended."""
        poll = select.poll()
        poll.register(self._at_rest, select.POLLIN)
        poll.poll(1000 * timeout_s)

    def tell_to_rest_no_more(self) -> None:
        """See ``pace``. A byte does, where a forked process keeps the pipe open."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # it has ended, or was told
            self._process.stdin.write(b"\n")
            self._process.stdin.close()

    def end(self) -> None:
        """With its work undone. It runs on until the system has a core for its end; wait for that."""
        assert self._process.stdin is not None
        self._process.kill()
        with contextlib.suppress(OSError):
            self._process.stdin.close()


class Conversion:
    """A trace on its way to a window. ``trace`` is removed when it succeeds and kept when it fails.

    Args:
        reason: why the window was taken, for ``window.header["stepscope"]["reason"]``; None where it was planned.
        void_markers: step markers that are no steps, by their place among the markers, if the trace does not tell.

    It waits until ``begin``. If this process ends before, another one's converter takes it over (``convert``).
    """

    def __init__(
        self, trace: Path, folder: Path, reason: Mapping[str, Any] | None = None, void_markers: Sequence[int] = ()
    ) -> None:
        about = {"reason": reason, "void_markers": list(void_markers)}
        self.trace = trace
        self.folder = folder
        self.came = time.monotonic()
        self.gives_way = True
        self.is_asked = (reason or {}).get("why") == ON_DEMAND  # then somebody waits for it
        self._is_urgent = self.is_asked
        self._work = {
            "trace": str(trace.absolute()),
            "folder": str(folder.absolute()),
            "about": {name: told for name, told in about.items() if told},
            "parent": os.getpid(),
        }
        self._note = waiting_note(trace.parent, folder.name)
        self._converter: Converter | None = None
        self._failure: str | None = None

    def wait_for_turn(self) -> None:
        """Leave a note beside the trace."""
        with contextlib.suppress(OSError):  # no space for it: only what takes it over would miss it
            self._note.write_text(json.dumps(self._work))

    def begin(self, converter: Converter | None = None) -> None:
        """In ``converter``, which was started ahead, or in one of its own.

        The training stands still while one was started ahead, and goes on when that one has come to its first rest:
        what it does until then would make the next step longer by as much as the stall is now, and more.
        """
        try:
            self._converter = converter or Converter(self.trace.parent, self.gives_way)
        except OSError as error:
            self._failure = str(error)
            return
        finally:
            with contextlib.suppress(OSError):
                self._note.unlink()
        self._converter.tell({**self._work, "again": False, "at_once": self._is_urgent})
        if converter is not None and not self._is_urgent:
            converter.wait_for_rest(_BOOT_S)

    def rest_no_more(self) -> None:
        """Nothing computes beside it any more."""
        self._is_urgent = True
        if self._converter is not None:
            self._converter.tell_to_rest_no_more()

    def hurry(self) -> None:
        """Give way no longer: what one process has begun goes on in another, since none may leave the idle class.

        Raises:
            OSError: that could not be started; the first one goes on.
        """
        first = self._converter
        if first is not None:
            self._converter = Converter(self.trace.parent, gives_way=False)
        self.gives_way = False
        if first is not None:
            first.end()
            first.wait(_END_S)
            assert self._converter is not None
            self._converter.tell({**self._work, "again": True, "at_once": True})

    @property
    def waits(self) -> bool:
        """For its turn."""
        return self._converter is None and self._failure is None

    @property
    def running(self) -> bool:
        """Whether it has not ended, be it that it waits."""
        return self.waits or (self._converter is not None and self._converter.running)

    def wait(self, timeout_s: float) -> bool:
        """Wait for its end once it has begun; False if it still runs after ``timeout_s``."""
        return self._converter is None or self._converter.wait(timeout_s)

    def error(self) -> str | None:
        """Why it failed. None while it runs or went well."""
        return self._failure if self._converter is None else self._converter.error()
