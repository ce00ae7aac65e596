"""The routes of the Data tab: what was recorded of a worker, in which files, and what every number means."""

from __future__ import annotations

import platform
from dataclasses import asdict
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import stepscope
from stepscope.analysis.quality import CODES
from stepscope.catalogue import SECTIONS, unit_of
from stepscope.definitions import split
from stepscope.inventory import Stretch, always_on_of, clock_of, files_of, windows_of
from stepscope.resources import ResourceHistory
from stepscope.tables import Tables
from stepscope.workers import Worker
from stepscope_tensorboard.answers import json_answer
from stepscope_tensorboard.listing import source_of
from stepscope_tensorboard.parameters import Parameters
from stepscope_tensorboard.routes import Made, Route, WorkerRoutes

#: Deep windows that are listed, the latest ones.
MAX_WINDOWS = 500
_VIEWER_PACKAGES = ("tensorboard", "numpy", "pyarrow")


class DataRoutes(WorkerRoutes):
    def routes(self) -> dict[str, Route]:
        """The routes by name."""
        return {"data": self.data, "definitions": self.definitions}

    def data(self, p: Parameters) -> Made:
        _, worker, session = self._worker(p)
        version, tables = session.tables(worker, "annotations")
        session.resources.read(worker)
        tag = f"{version}-{session.resources.version}-{worker.updated_ns}"
        return tag, lambda: json_answer(data_impl(worker, tables, session.resources))

    def definitions(self, p: Parameters) -> Made:
        return stepscope.__version__, lambda: json_answer(definitions_impl())


def data_impl(worker: Worker, tables: Tables, resources: ResourceHistory) -> dict[str, Any]:
    """What there is of a worker; times relative to the origin."""
    source, origin = tables.source, tables.origin_ns
    files, file_count = files_of(worker)
    windows = windows_of(source.capture, source.steps)
    always_on = always_on_of(source.live, source.steps)
    extent = resources.extent_ns()
    meta = worker.meta or {}
    return {
        "origin_ns": str(origin),
        "source": source_of(worker),
        "format": meta.get("schema"),
        "started_ns": _text(meta.get("started_ns")),
        "ended_ns": _text(meta.get("ended_ns")),
        "windows": [_relative(window, origin) for window in windows[-MAX_WINDOWS:]],
        "window_count": len(windows),
        "always_on": None if always_on is None else _relative(always_on, origin),
        "monitor": None
        if extent is None
        else {
            "start": extent[0] - origin,
            "end": extent[1] - origin,
            "interval_ns": resources.interval_ns(),
            "series": len(resources.infos()),
        },
        "files": [{**asdict(file), "modified_ns": str(file.modified_ns)} for file in files],
        "file_count": file_count,
        "file_bytes": sum(file.bytes for file in files),
        "clock": _clock(clock_of(worker)),
        "viewer": viewer_versions(),
    }


@cache
def definitions_impl() -> dict[str, Any]:
    """What every number and every code of the quality notes means, as docs/metrics.md tells it."""
    sections = []
    for title, place, unit, documented in SECTIONS:
        text, metrics = split(documented)
        sections.append(
            {
                "title": title,
                "place": place,
                "text": text.replace("``", ""),
                "metrics": [
                    {"name": name, "unit": unit_of(name, unit), "meaning": meaning.replace("``", "")}
                    for name, meaning in metrics
                ],
            }
        )
    return {"sections": sections, "codes": CODES}


@cache
def viewer_versions() -> dict[str, str]:
    """What shows the data: it need not be what recorded it."""
    found = {"stepscope": stepscope.__version__, "python": platform.python_version(), "system": platform.system()}
    for name in _VIEWER_PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _relative(stretch: Stretch, origin: int) -> dict[str, Any]:
    told = asdict(stretch)
    return {"start": told.pop("start_ns") - origin, "end": told.pop("end_ns") - origin, **told}


def _clock(clock: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if clock is None else {**clock, "first_ns": str(clock["first_ns"])}


def _text(ns: Any) -> str | None:
    return str(ns) if isinstance(ns, int) else None
