"""The routes that change something: a capture or another sampling interval asked of a running job, by a request in its
``control`` folder, and an import that is cancelled or begun again.

A request needs POST, comes from a page of this very server, and carries the token that the page has read from here:
a page of another site can send requests, and cannot read answers. ``STEPSCOPE_READ_ONLY=1`` switches them off.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from stepscope.control import DONE, Request, ask, responses
from stepscope.errors import StepscopeError
from stepscope.monitor import INTERVALS_MS
from stepscope.running_job import capture_request, interval_request, live_workers
from stepscope.runs import Run
from stepscope.schema import Kind
from stepscope.workers import FileWorker, RecordedWorker
from stepscope_tensorboard.answers import Answer, Problem, json_answer
from stepscope_tensorboard.imports import Imports
from stepscope_tensorboard.listing import Listing
from stepscope_tensorboard.parameters import Parameters
from stepscope_tensorboard.routes import Made, Route
from stepscope_tensorboard.run_rollups import RunRollups

READ_ONLY_VARIABLE = "STEPSCOPE_READ_ONLY"
TOKEN_HEADER = "X-Stepscope-Token"
MAX_BODY_BYTES = 4096

T = TypeVar("T")


class CaptureBody(msgspec.Struct, forbid_unknown_fields=True):
    """``worker`` None: all of the run that are alive."""

    run: str
    worker: str | None
    steps: int


class IntervalBody(msgspec.Struct, forbid_unknown_fields=True):
    """How often the resource monitor beside a worker samples; ``worker`` None: beside all that are alive."""

    run: str
    worker: str | None
    interval_ms: int


class ImportBody(msgspec.Struct, forbid_unknown_fields=True):
    """``worker`` None: what sums up all workers of the run. ``wanted`` false cancels, true begins anew."""

    run: str
    worker: str | None
    wanted: bool


#: Takes a POST: its headers, the host that it was sent to, its body.
Post = Callable[[Mapping[str, str], str, bytes], Answer]


class ControlRoutes:
    def __init__(self, listing: Listing, imports: Imports, rollups: RunRollups) -> None:
        self._listing = listing
        self._imports = imports
        self._rollups = rollups
        self._token = secrets.token_urlsafe(24)

    def routes(self) -> dict[str, Route]:
        return {"control/token": self.token, "control/status": self.status}

    def posts(self) -> dict[str, Post]:
        """The routes that take a POST."""
        return {
            "control/capture": self.capture,
            "control/interval": self.interval,
            "control/import": self.import_,
        }

    def token(self, p: Parameters) -> Made:
        """The token for ``posts``; null where this server only reads."""
        return None, lambda: json_answer({"token": None if _is_read_only() else self._token})

    def status(self, p: Parameters) -> Made:
        run = self._listing.run(p.text("run"))
        request_id = p.text("request")
        if re.fullmatch(r"[0-9a-f]{16}", request_id) is None:
            raise Problem(400, "The parameter request must be what control/capture gave.")
        return None, lambda: json_answer({"workers": _status(run, request_id)})

    def capture(self, headers: Mapping[str, str], host: str, body: bytes) -> Answer:
        """Ask for a deep window.

        Raises:
            Problem: 403 the request may not come from here, 400 it makes no sense, 409 the job does not run.
        """
        self._check_sender(headers, host)
        asked = _decoded(body, CaptureBody)
        run = self._listing.run(asked.run)
        request_id, request = _ask(run, asked.worker, lambda workers: capture_request(workers, asked.steps))
        return json_answer({"request": request_id, "workers": request.workers, "steps": request.steps})

    def interval(self, headers: Mapping[str, str], host: str, body: bytes) -> Answer:
        """Ask for another sampling interval of the resource monitor.

        Raises:
            Problem: 403 the request may not come from here, 400 it makes no sense, 409 the job does not run.
        """
        self._check_sender(headers, host)
        asked = _decoded(body, IntervalBody)
        if asked.interval_ms not in INTERVALS_MS:
            raise Problem(400, f"interval_ms must be one of {', '.join(map(str, INTERVALS_MS))}.")
        run = self._listing.run(asked.run)
        request_id, request = _ask(run, asked.worker, lambda workers: interval_request(workers, asked.interval_ms))
        return json_answer({"request": request_id, "workers": request.workers, "interval_ms": request.interval_ms})

    def import_(self, headers: Mapping[str, str], host: str, body: bytes) -> Answer:
        """Cancel the import of a worker's file or the summing up of a run, or begin it anew.

        Raises:
            Problem: 403 the request may not come from here, 400 it makes no sense, 409 the worker is no file.
        """
        self._check_sender(headers, host)
        asked = _decoded(body, ImportBody)
        if asked.worker is None:
            run = self._listing.run(asked.run)
            (self._rollups.resume if asked.wanted else self._rollups.cancel)(run)
        else:
            _, worker = self._listing.worker(asked.run, asked.worker)
            if not isinstance(worker, FileWorker):
                raise Problem(409, f"The worker {asked.worker!r} was recorded by stepscope: nothing is imported.")
            (self._imports.resume if asked.wanted else self._imports.cancel)(worker.path)
        return json_answer({"wanted": asked.wanted})

    def _check_sender(self, headers: Mapping[str, str], host: str) -> None:
        if _is_read_only():
            commands = "there are stepscope capture and stepscope import"
            raise Problem(403, f"This server only reads ({READ_ONLY_VARIABLE} is set); {commands}.")
        site = headers.get("Sec-Fetch-Site")
        is_same = site == "same-origin" if site else _host_of(headers.get("Origin", "")) == host
        if not is_same:
            raise Problem(403, "Only a page of this server can ask for this.")
        if not secrets.compare_digest(headers.get(TOKEN_HEADER, "").encode(), self._token.encode()):
            raise Problem(403, "The token is missing or of an earlier start of the server; reload the page.")


def _ask(run: Run, worker: str | None, made: Callable[[list[RecordedWorker]], Request]) -> tuple[str, Request]:
    """Leave a request to one worker, or to all that live (None); its id and what it says."""
    try:
        workers = [w for w in live_workers(run) if worker in (None, w.id)]
        if not workers:
            raise Problem(409, f"The worker {worker!r} does not run.")
        request = made(workers)
        return ask(run.path, request), request
    except StepscopeError as error:
        raise Problem(409, str(error)) from None


def _host_of(origin: str) -> str | None:
    """None for what is no address."""
    try:
        return urlsplit(origin).netloc or None
    except ValueError:  # a bracket that does not close, say
        return None


def _decoded(body: bytes, into: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=into)
    except (msgspec.MsgspecError, ValueError) as error:
        raise Problem(400, f"The body cannot be used: {error}.") from None


def _is_read_only() -> bool:
    return os.environ.get(READ_ONLY_VARIABLE, "") not in ("", "0")


def _status(run: Run, request_id: str) -> list[dict[str, Any]]:
    workers = {worker.id: worker for worker in run.workers if isinstance(worker, RecordedWorker)}
    said = responses(run.path, request_id, list(workers))
    return [
        {
            "worker": worker,
            "state": response.state,
            "detail": response.detail,
            "first_step": response.first_step,
            "steps": response.steps,
            **(_place(workers[worker], response.window) if response.state == DONE else _NO_PLACE),
        }
        for worker, response in said.items()
    ]


_NO_PLACE = {"window": None, "start_ns": None, "duration_ns": None}


def _place(worker: RecordedWorker, window_id: str | None) -> dict[str, Any]:
    """Where the steps of a window are; the name of the window comes from the listing of the folder."""
    if window_id not in worker.window_ids():
        return _NO_PLACE
    assert window_id is not None
    events = worker.window(window_id).events
    rows = events.of_kind(Kind.STEP)
    if not rows.any():
        return {**_NO_PLACE, "window": window_id}
    start = int(events.ts_ns[rows].min())
    return {"window": window_id, "start_ns": str(start), "duration_ns": int(events.end_ns[rows].max()) - start}
