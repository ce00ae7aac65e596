"""What all routes share: what they give, and how they find the worker that is asked for."""

from __future__ import annotations

from collections.abc import Callable

from stepscope.runs import Run
from stepscope.workers import Worker
from stepscope_tensorboard.answers import Answer
from stepscope_tensorboard.listing import Listing
from stepscope_tensorboard.parameters import Parameters
from stepscope_tensorboard.sessions import Session, Sessions

#: What a route gives: a version of its content, None where there is none, and how to make it. The version is compared
#: before anything is made: what a browser has already is not sent again.
Made = tuple[str | None, Callable[[], Answer]]
Route = Callable[[Parameters], Made]


class WorkerRoutes:
    """Routes about one worker of a run, which the parameters ``run`` and ``worker`` name."""

    def __init__(self, listing: Listing, sessions: Sessions) -> None:
        self._listing = listing
        self._sessions = sessions

    def _worker(self, p: Parameters, parameter: str = "worker") -> tuple[Run, Worker, Session]:
        run, worker = self._listing.worker(p.text("run"), p.text(parameter))
        return run, worker, self._sessions.of(run.id, worker)
