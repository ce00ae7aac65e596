"""Requests to a running job over the run folder: capture now, sample at another interval, stop recording.

<run>/plugins/stepscope/control/
  request-<id>.json                 what is asked of which workers, and until when it may be taken up
  response-<id>-<digest>.json       what a worker says to it (the digest is its id's); replaced as it goes on

No port is opened. Whoever may write to the run folder may ask. The files are data of a strict form and a bounded
size, and nothing in them is executed or joined to a path. The writer thread of the recorder looks at each write.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from stepscope.errors import StepscopeError
from stepscope.store.layout import PLUGIN_DIR, read_json, write_json, write_json_once

#: Seconds in which a request can be taken up.
EXPIRES_S = 60.0
#: Seconds in which every worker has seen a request: two looks and a slow file system.
LEAD_S = 1.5
#: Requests and responses older than this are removed by whoever asks next.
_KEPT_S = 3600.0
#: Bytes of a request, and requests that one look reads: more are no requests of ours.
_MAX_BYTES = 65_536
_MAX_REQUESTS = 64
MAX_STEPS = 1000
MAX_WORKERS = 1024

CAPTURE, INTERVAL, STOP = "capture", "interval", "stop"
#: States of a response; those of FINAL are followed by no other.
ACCEPTED, DONE, REFUSED, FAILED = "accepted", "done", "refused", "failed"
FINAL = (DONE, REFUSED, FAILED)

_REQUEST = re.compile(r"request-([0-9a-f]{16})\.json")


class Reason(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Why the flight recorder of a worker asks all of them for a window: what it saw in which step (``flight``)."""

    why: Literal["slow_step", "loss_not_finite"]
    step: int
    rank: int | None = None
    dur_ns: int | None = None
    usual_ns: int | None = None
    value: Literal["nan", "inf", "-inf"] | None = None


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is asked. ``workers`` are ids of workers; ``at_step`` is the earliest step of a capture.

    One with a ``reason`` comes from a worker; nobody waits for what is said to it.
    """

    command: str
    workers: list[str]
    expires_ns: int
    steps: int = 3
    at_step: int = 0
    interval_ms: int = 0
    reason: Reason | None = None

    def check(self) -> None:
        """Raises ``ValueError`` with a sentence where it cannot be meant."""
        if self.command not in (CAPTURE, INTERVAL, STOP):
            raise ValueError("the command is unknown to this version")
        if not 1 <= self.steps <= MAX_STEPS:
            raise ValueError(f"a capture holds 1 to {MAX_STEPS} steps")
        if not 1 <= len(self.workers) <= MAX_WORKERS:
            raise ValueError(f"a request names 1 to {MAX_WORKERS} workers")
        if self.reason is not None and (self.command != CAPTURE or _lacks(self.reason)):
            raise ValueError("its reason is none")


def _lacks(reason: Reason) -> bool:
    needed = (reason.value,) if reason.why == "loss_not_finite" else (reason.dur_ns, reason.usual_ns)
    return None in needed


@dataclass
class Response:
    """What a worker says: a state, a sentence where there is more to tell, and the window of a capture."""

    worker: str
    state: str
    detail: str = ""
    window: str | None = None
    first_step: int | None = None


def control_folder(run: str | os.PathLike[str]) -> Path:
    return Path(run) / PLUGIN_DIR / "control"


# -- the side that asks --------------------------------------------------------------------------------


def ask(run: str | os.PathLike[str], request: Request) -> str:
    """Leave a request in the run folder; returns its id.

    Raises:
        StepscopeError: it makes no sense, or the folder cannot be written.
    """
    try:
        request.check()
    except ValueError as error:
        raise StepscopeError(f"{run}: nothing is asked, since {error}.") from None
    folder = control_folder(run)
    request_id = secrets.token_hex(8)
    try:
        folder.mkdir(exist_ok=True)
        _tidy(folder)
        write_json(folder / f"request-{request_id}.json", msgspec.to_builtins(request))
    except OSError as error:
        raise StepscopeError(
            f"{folder}: cannot be written ({error.strerror or error}). Ask from an account that may write to the run."
        ) from error
    return request_id


def ask_once(run: str | os.PathLike[str], request: Request, what: str) -> None:
    """Leave a request that several workers may make at the same time: of those for the same ``what`` the first counts.

    Raises:
        OSError: the folder cannot be written.
    """
    folder = control_folder(run)
    folder.mkdir(exist_ok=True)
    _tidy(folder)
    path = folder / f"request-{hashlib.blake2b(what.encode(), digest_size=8).hexdigest()}.json"
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > EXPIRES_S:  # of a recording before this one
            path.unlink()
    write_json_once(path, msgspec.to_builtins(request))


def responses(run: str | os.PathLike[str], request_id: str, workers: Sequence[str]) -> dict[str, Response]:
    """What the workers have said so far to a request, by worker; those that said nothing are absent."""
    found = {}
    for worker in workers:
        try:
            told = read_json(control_folder(run) / _response_name(request_id, worker))
            found[worker] = msgspec.convert(told, Response)
        except (StepscopeError, msgspec.ValidationError):
            continue
    return found


def withdraw(run: str | os.PathLike[str], request_id: str) -> None:
    """Remove a request and what was said to it."""
    for path in _entries(control_folder(run)):
        if request_id in path.name:
            with contextlib.suppress(OSError):
                path.unlink()


def _tidy(folder: Path) -> None:
    for path in _entries(folder):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _KEPT_S:
                path.unlink()


def _entries(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if re.match(r"\.?(request|response)-[0-9a-f]{16}", path.name)]
    except OSError:
        return []


def _response_name(request_id: str, worker: str) -> str:
    digest = hashlib.blake2b(worker.encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()
    return f"response-{request_id}-{digest}.json"


# -- the side that answers -----------------------------------------------------------------------------


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
        self.first_step: int | None = None
        self.failure: str | None = None
        self.conversion: Any = None  # a ``stepscope.convert.Conversion``, once it is recorded

    def outcome(self) -> Response | None:
        """How it ended, without the worker's name; None while it goes on."""
        if self.failure is not None:
            return Response("", FAILED, self.failure)
        if self.conversion is None or self.conversion.running:
            return None
        error = self.conversion.error()
        if error is not None:
            return Response("", FAILED, f"The window could not be converted: {error}")
        return Response("", DONE, "", self.conversion.folder.name, self.first_step)


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

    def poll(self) -> None:
        """Take up what is new, and tell what has become of the rest."""
        for request_id, capture in list(self._running.items()):
            outcome = capture.outcome()
            if outcome is not None:
                del self._running[request_id]
                self._respond(request_id, outcome)
        try:
            changed_ns = self._folder.stat().st_mtime_ns
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
        if not 0 <= left_s <= _KEPT_S:
            raise ValueError("it came too late" if left_s < 0 else "it is valid for too long")
        capture = None
        if request.command == CAPTURE:
            reason = {"why": "on_demand"} if request.reason is None else msgspec.to_builtins(request.reason)
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
            write_json(self._folder / _response_name(request_id, self._worker), asdict(response))


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
