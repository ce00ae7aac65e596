"""A running job answers requests: what is asked of one worker, and what has become of it.

The writer thread of the recorder looks twice a second into the folder of ``control``.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from stepscope.control import (
    ACCEPTED,
    CAPTURE,
    DONE,
    FAILED,
    INTERVAL,
    KEPT_S,
    REFUSED,
    Request,
    Response,
    control_folder,
    response_name,
)
from stepscope.convert import ON_DEMAND
from stepscope.store.layout import write_json

#: Bytes of a request, and requests that one look reads: more are no requests of ours.
_MAX_BYTES = 65_536
_MAX_REQUESTS = 64

_REQUEST = re.compile(r"request-([0-9a-f]{16})\.json")


class Capture:
    """A deep window that was asked for. The training thread tells what becomes of it, the writer thread reads it.

    Args:
        steps: how many it should hold.
        at_step: the step before which it should not begin, so that all ranks capture the same ones.
        reason: why it is taken, for the window's metadata.
    """

    def __init__(self, steps: int, at_step: int, reason: dict[str, Any]) -> None:
        self.steps = steps
        self.at_step = at_step
        self.reason = reason
        self.begins_at: int | None = None  # once the training thread has seen it
        self.failure: str | None = None
        self.taken = range(0)  # the steps in it
        self.conversion: Any = None  # a ``stepscope.converter.Conversion``, once it is recorded

    def settle(self, earliest: int) -> int:
        """The step that it is to begin with, where the training can begin none before ``earliest``."""
        self.begins_at = max(self.at_step, earliest)
        return self.begins_at

    def recorded(self, steps: range, conversion: Any) -> None:
        """It holds these steps, and is being converted."""
        self.taken = steps
        self.conversion = conversion

    @property
    def lateness(self) -> str:
        """A sentence where the worker takes other steps than were asked of all, since these had passed."""
        if not self.at_step or self.begins_at is None or self.begins_at == self.at_step:
            return ""
        return f"The request came too late for step {self.at_step}."

    def outcome(self) -> Response | None:
        """How it ended, without the worker's name; None while it goes on."""
        if self.failure is not None:
            return Response("", FAILED, self.failure)
        if self.conversion is None or self.conversion.running:
            return None
        error = self.conversion.error()
        if error is not None:
            return Response("", FAILED, f"The window could not be converted: {error}")
        return Response("", DONE, self.lateness, self.conversion.folder.name, self.taken.start, len(self.taken))


@dataclass
class Handlers:
    """What a hook does when it is asked; each returns why it refuses, or None. Called on the writer thread."""

    capture: Callable[[Capture], str | None]
    set_interval: Callable[[int], str | None]
    stop: Callable[[], str | None]


class Control:
    """Looks for requests to one worker. A look without news costs one ``stat``."""

    def __init__(self, run: str | os.PathLike[str], worker: str, handlers: Handlers) -> None:
        self._folder = control_folder(run)
        self._worker = worker
        self._handlers = handlers
        self._seen_ns = 0
        self._done: set[str] = set()
        self._running: dict[str, Capture] = {}
        self._late: set[str] = set()  # those of which it has been told that they came too late

    def poll(self) -> None:
        """Take up what is new, and tell what has become of the rest."""
        for request_id, capture in list(self._running.items()):
            outcome = capture.outcome()
            if outcome is not None:
                del self._running[request_id]
                self._respond(request_id, outcome)
            elif capture.lateness and request_id not in self._late:
                self._late.add(request_id)
                self._respond(request_id, Response("", ACCEPTED, capture.lateness, first_step=capture.begins_at))
        try:
            changed_ns = os.stat(self._folder).st_mtime_ns
        except OSError:
            return
        # Two changes within the file system's clock tick look like one: a young folder is read once more.
        if changed_ns == self._seen_ns and time.time_ns() - changed_ns > 2_000_000_000:
            return
        self._seen_ns = changed_ns
        for request_id, path in self._new_requests():
            self._done.add(request_id)
            try:
                self._take(request_id, path)
            except (OSError, ValueError) as error:  # of ValueError: all that msgspec raises
                self._respond(request_id, Response("", REFUSED, f"The request cannot be used: {error}."))

    def close(self, why: str = "The recording ended before the window was complete.") -> None:
        """The recording ends: no window comes any more."""
        for capture in self._running.values():
            if capture.conversion is None:
                capture.failure = capture.failure or why
        self.poll()

    def _new_requests(self) -> list[tuple[str, Path]]:
        try:
            names = [entry.name for entry in os.scandir(self._folder)]
        except OSError:
            return []
        found = [(match[1], self._folder / name) for name in sorted(names) if (match := _REQUEST.fullmatch(name))]
        return [(request_id, path) for request_id, path in found if request_id not in self._done][:_MAX_REQUESTS]

    def _take(self, request_id: str, path: Path) -> None:
        request = msgspec.json.decode(_read_plain_file(path), type=Request)
        if self._worker not in request.workers:
            return
        request.check()
        left_s = (request.expires_ns - time.time_ns()) / 1e9
        if not 0 <= left_s <= KEPT_S:
            raise ValueError("it came too late" if left_s < 0 else "it is valid for too long")
        capture = None
        if request.command == CAPTURE:
            reason = {"why": ON_DEMAND} if request.reason is None else msgspec.to_builtins(request.reason)
            capture = Capture(request.steps, request.at_step, reason)
            refusal = self._handlers.capture(capture)
            if request.reason is not None:
                return
        elif request.command == INTERVAL:
            refusal = self._handlers.set_interval(request.interval_ms)
        else:
            # Before it is done: a recording that has stopped answers no more.
            self._respond(request_id, Response("", DONE))
            refusal = self._handlers.stop()
        if refusal is not None:
            self._respond(request_id, Response("", REFUSED, refusal))
        elif capture is not None:
            self._running[request_id] = capture
            self._respond(request_id, Response("", ACCEPTED, first_step=request.at_step))
        elif request.command == INTERVAL:
            self._respond(request_id, Response("", DONE))

    def _respond(self, request_id: str, response: Response) -> None:
        response.worker = self._worker
        # Who asked may have removed the folder, and a full disk must not end the recording here.
        with contextlib.suppress(OSError):
            write_json(self._folder / response_name(request_id, self._worker), asdict(response))


def _read_plain_file(path: Path) -> bytes:
    """A request's bytes: no link is followed, and a pipe or a huge file is refused."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is no plain file")
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError(f"it is larger than {_MAX_BYTES} bytes")
    return data
