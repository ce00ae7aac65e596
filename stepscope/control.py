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
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from stepscope.errors import StepscopeError
from stepscope.store.layout import PLUGIN_DIR, read_json, write_json, write_json_once

#: Seconds in which a request can be taken up.
EXPIRES_S = 60.0
#: Seconds in which every worker has seen a request: a look each 0.8 s, and as much again for a slow file system and for
#: a busy machine, where 1.5 s were too few now and then: a worker that is late captures later steps than the others.
LEAD_S = 3.0
#: Requests and responses older than this are removed by whoever asks next.
KEPT_S = 3600.0
MAX_STEPS = 1000
MAX_WORKERS = 1024

CAPTURE, INTERVAL, STOP = "capture", "interval", "stop"
#: States of a response; those of FINAL are followed by no other.
ACCEPTED, DONE, REFUSED, FAILED = "accepted", "done", "refused", "failed"
FINAL = (DONE, REFUSED, FAILED)


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
    """What a worker says: a state, a sentence where there is more to tell, and of a capture its window, the step with
    which that begins (or is to begin) and how many it holds.
    """

    worker: str
    state: str
    detail: str = ""
    window: str | None = None
    first_step: int | None = None
    steps: int | None = None


def control_folder(run: str | os.PathLike[str]) -> Path:
    return Path(run) / PLUGIN_DIR / "control"


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
            told = read_json(control_folder(run) / response_name(request_id, worker))
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
            if time.time() - path.stat().st_mtime > KEPT_S:
                path.unlink()


def _entries(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if re.match(r"\.?(request|response)-[0-9a-f]{16}", path.name)]
    except OSError:
        return []


def response_name(request_id: str, worker: str) -> str:
    digest = hashlib.blake2b(worker.encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()
    return f"response-{request_id}-{digest}.json"
