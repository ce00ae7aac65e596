"""The plugin without a server: a route and its query in, an ``Answer`` out."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import secrets
from collections.abc import Mapping, Sequence

from stepscope.errors import StepscopeError
from stepscope_tensorboard.ahead_routes import AheadRoutes
from stepscope_tensorboard.answers import Answer, Pending, Problem, json_answer
from stepscope_tensorboard.compare_routes import CompareRoutes
from stepscope_tensorboard.control_routes import ControlRoutes
from stepscope_tensorboard.data_routes import DataRoutes
from stepscope_tensorboard.first_look import FirstLook
from stepscope_tensorboard.imports import Imports
from stepscope_tensorboard.listing import Listing
from stepscope_tensorboard.logdirs import Root, elsewhere
from stepscope_tensorboard.memory_routes import MemoryRoutes
from stepscope_tensorboard.panel_routes import PanelRoutes
from stepscope_tensorboard.parameters import Parameters
from stepscope_tensorboard.resource_routes import ResourceRoutes
from stepscope_tensorboard.routes import Route
from stepscope_tensorboard.run_rollups import RunRollups
from stepscope_tensorboard.run_routes import RunRoutes
from stepscope_tensorboard.sessions import Sessions
from stepscope_tensorboard.step_routes import StepRoutes
from stepscope_tensorboard.summary_routes import SummaryRoutes
from stepscope_tensorboard.table_routes import TableRoutes
from stepscope_tensorboard.timeline_routes import TimelineRoutes
from stepscope_tensorboard.xla_routes import XlaRoutes

log = logging.getLogger("stepscope")

#: Bytes that opened workers may hold, such as 4G, 500M or a plain number; those unused longest are dropped.
MEMORY_VARIABLE = "STEPSCOPE_VIEWER_MEMORY"
DEFAULT_MEMORY_BYTES = 4 << 30

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Api:
    """Answers every route of docs/api.md for the runs below some folders. Any thread may ask."""

    def __init__(self, roots: Sequence[Root], memory_bytes: int | None = None) -> None:
        self._roots = roots
        self._imports = Imports()
        self._rollups = RunRollups()
        self._sessions = Sessions(self._imports, memory_from_environment() if memory_bytes is None else memory_bytes)
        self._listing = Listing(roots)
        #: To begin when the server starts.
        self.first_look = FirstLook(self._listing, self._sessions)
        control = ControlRoutes(self._listing, self._imports, self._rollups)
        of_worker = self._listing, self._sessions
        # Versions are counted from 0 in each process: the tag of another one must not match.
        self._process = secrets.token_hex(4)
        self.routes: dict[str, Route] = {
            **SummaryRoutes(*of_worker).routes(),
            **TimelineRoutes(*of_worker).routes(),
            **RunRoutes(self._listing, self._rollups).routes(),
            **StepRoutes(*of_worker).routes(),
            **CompareRoutes(*of_worker).routes(),
            **PanelRoutes(*of_worker).routes(),
            **TableRoutes(*of_worker).routes(),
            **DataRoutes(*of_worker).routes(),
            **MemoryRoutes(*of_worker).routes(),
            **XlaRoutes(*of_worker).routes(),
            **ResourceRoutes(*of_worker).routes(),
            **AheadRoutes(*of_worker).routes(),
            **control.routes(),
        }
        self.posts = control.posts()

    def answer(self, route: str, query: Mapping[str, str], known_etag: str | None = None) -> Answer:
        """Answer a GET request. ``known_etag`` is the tag of what the browser has already."""
        handler = self.routes.get(route)
        try:
            if handler is None:
                raise Problem(404, f"There is no route {route!r}.")
            if all(root.path is None for root in self._roots) and self._roots:
                raise Problem(400, elsewhere(self._roots))
            version, make = handler(Parameters(query))
            etag = None if version is None else self._etag(route, query, version)
            if etag is not None and etag == known_etag:
                return Answer(304, "text/plain", b"", etag)
            made = make()
            return Answer(made.status, made.content_type, made.body, etag, made.headers)
        except Pending as pending:
            about = {"state": pending.state, "detail": str(pending), "can_cancel": pending.can_cancel}
            return json_answer(about, 202)
        except Problem as problem:
            return json_answer({"error": str(problem)}, problem.status)
        except StepscopeError as error:
            return json_answer({"error": str(error)}, 422)  # the files are not as they should be; the server is
        except Exception as error:
            log.exception("the route %s failed", route)
            return json_answer({"error": f"stepscope failed here ({type(error).__name__}: {error})."}, 500)

    def post(self, route: str, headers: Mapping[str, str], host: str, body: bytes) -> Answer:
        """Answer a POST request, of one of ``posts``."""
        try:
            return self.posts[route](headers, host, body)
        except Problem as problem:
            return json_answer({"error": str(problem)}, problem.status)
        except Exception as error:
            log.exception("the route %s failed", route)
            return json_answer({"error": f"stepscope failed here ({type(error).__name__}: {error})."}, 500)

    def close(self) -> None:
        """End what runs in the background."""
        self._imports.stop()
        self._rollups.stop()

    def _etag(self, route: str, query: Mapping[str, str], version: str) -> str:
        asked = repr((route, sorted(query.items()))).encode("utf-8", "backslashreplace")
        return f'"{self._process}-{version}-{hashlib.blake2b(asked, digest_size=8).hexdigest()}"'


def memory_from_environment() -> int:
    """The bound on memory that ``MEMORY_VARIABLE`` sets; the default if it is unset or no size."""
    text = os.environ.get(MEMORY_VARIABLE, "").strip().upper()
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?)I?B?", text)
    if match is None:
        if text:
            log.warning("stepscope: %s=%s is no size; write 4G or 500M. 4G is used.", MEMORY_VARIABLE, text)
        return DEFAULT_MEMORY_BYTES
    return int(float(match[1]) * _UNITS[match[2]])
