"""The routes of the tables: a page of rows, what one row stands for, files, and the charts above them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from stepscope.summary.distributions import distribution
from stepscope.tables import SINGLE, TABLES, Frame, Tables
from stepscope.tables.export import TooManyRows, as_csv, as_parquet, file_name
from stepscope.tables.launch_charts import launch_points, queue_points
from stepscope.tables.occurrences import Details, details, row_of
from stepscope.tables.ordered import Ordered
from stepscope.tables.query import BadQuery, Bound, Query, Tree, select_tree
from stepscope.tables.roofline import operator_roofline, roofline
from stepscope.timeline.search import MAX_PATTERN, BadPattern
from stepscope.workers import Worker
from stepscope_tensorboard.answers import Answer, Problem, cut_text, json_answer
from stepscope_tensorboard.parameters import Parameters
from stepscope_tensorboard.routes import Made, Route, WorkerRoutes
from stepscope_tensorboard.sessions import Session

MAX_ROWS = 500
MAX_POINTS = 5000
MAX_LEVELS = 1000
_COUNTS = ("count", "linked", "without_run", "runs_without_launch", "negative")
_CSV = "text/csv; charset=utf-8"
_PARQUET = "application/vnd.apache.parquet"


class TableRoutes(WorkerRoutes):
    def routes(self) -> dict[str, Route]:
        """The routes by name."""
        return {
            "tables/rows": self.rows,
            "tables/details": self.details,
            "tables/export": self.export,
            "tables/launches": self.launches,
            "tables/roofline": self.roofline,
        }

    def rows(self, p: Parameters) -> Made:
        offset = p.integer("offset", 0, least=0)
        limit = p.integer("limit", 200, least=1, most=MAX_ROWS)
        asked = _Asked(p)
        _, worker, session = self._worker(p)
        version, tables, frame = _frame(session, worker, asked)
        return version, lambda: json_answer(rows_impl(tables, frame, asked, offset, limit))

    def details(self, p: Parameters) -> Made:
        id, at = p.integer("id"), p.text("at") if p.has("at") else "first"
        asked = _Asked(p)
        _, worker, session = self._worker(p)
        version, tables, frame = _frame(session, worker, asked)
        return version, lambda: json_answer(details_impl(tables, frame, asked, id, at))

    def export(self, p: Parameters) -> Made:
        to = p.choice("to", ("csv", "parquet"))
        asked = _Asked(p)
        keys = p.text("columns").split(",") if p.has("columns") else None
        run, worker, session = self._worker(p)
        version, tables, frame = _frame(session, worker, asked)
        wanted = [c.key for c in frame.columns if keys is None or c.key in keys]

        def made() -> Answer:
            order = asked.all(tables, frame)
            try:
                write = as_csv if to == "csv" else as_parquet
                body = write(frame, order, wanted, tables.origin_ns)
            except TooManyRows as error:
                raise Problem(400, str(error)) from error
            by = [] if asked.by == SINGLE else [f"by-{asked.by}"]
            name = file_name(run.id, worker.id, asked.table, *by)
            headers = {"Content-Disposition": f'attachment; filename="{name}.{to}"'}
            return Answer(200, _CSV if to == "csv" else _PARQUET, body, headers=headers)

        return version, made

    def launches(self, p: Parameters) -> Made:
        points = p.integer("points", MAX_POINTS, least=50, most=MAX_POINTS)
        _, worker, session = self._worker(p)
        version, tables = session.tables(worker, "launches")
        return version, lambda: json_answer(launches_impl(tables, points))

    def roofline(self, p: Parameters) -> Made:
        points = p.integer("points", MAX_ROWS, least=1, most=MAX_ROWS)
        of = p.choice("table", ("hlo", "operators")) if p.has("table") else "hlo"
        _, worker, session = self._worker(p)
        version, tables = session.tables(worker, of)
        session.frame(tables, of, "op" if of == "hlo" else "shapes")  # reads the programs in the background

        def made() -> Answer:
            found = roofline(tables.source, points) if of == "hlo" else operator_roofline(tables, points)
            return json_answer({"origin_ns": str(tables.origin_ns), **found})

        return version, made


class _Asked:
    """The table, its grouping and the query of a request."""

    def __init__(self, p: Parameters) -> None:
        self.table = p.choice("table", tuple(TABLES))
        groupings = tuple(TABLES[self.table].groupings)
        self.by = p.choice("by", (*groupings, SINGLE)) if p.has("by") else (*groupings, SINGLE)[0]
        text = p.text("text") if p.has("text") else ""
        if len(text) > MAX_PATTERN:
            raise Problem(400, f"A text to filter by has at most {MAX_PATTERN} characters.")
        self.query = Query(
            sort=p.text("sort") if p.has("sort") else None,
            descending=not p.flag("ascending"),
            text=text,
            regex=p.flag("regex"),
            bounds=_bounds(p.text("bounds")) if p.has("bounds") else (),
        )
        self.within = _within(p.text("within")) if p.has("within") else None
        self.levels = p.integer("levels", 2, least=0, most=MAX_LEVELS)
        self.toggled = frozenset(p.optional_integers("toggled") or ())

    def all(self, tables: Tables, frame: Frame) -> np.ndarray:
        """Positions of the rows that are asked for."""
        return self.tree(frame).rows if frame.parent is not None else self.order(tables).all()

    def tree(self, frame: Frame) -> Tree:
        try:
            return select_tree(frame, self.query, self.levels, self.toggled)
        except (BadQuery, BadPattern) as error:
            raise Problem(400, str(error)) from error

    def order(self, tables: Tables) -> Ordered:
        try:
            return tables.order(self.table, self.by, self.query, self.within)
        except (BadQuery, BadPattern) as error:
            raise Problem(400, str(error)) from error


def rows_impl(tables: Tables, frame: Frame, asked: _Asked, offset: int, limit: int) -> dict[str, Any]:
    """A page of rows, column by column."""
    table = tables.table(asked.table)
    tree = asked.tree(frame) if frame.parent is not None else None
    found = asked.order(tables) if tree is None else tree.rows
    end = offset + limit
    page = found.part(offset, end) if isinstance(found, Ordered) else found[offset:end]
    texts: dict[str, int] = {}
    values = {c.key: _values(frame, c.key, c.is_text, page, texts) for c in frame.columns}
    return {
        "origin_ns": str(tables.origin_ns),
        "by": asked.by,
        "groupings": [{"key": key, "label": label} for key, label in table.groupings.items()],
        "columns": [
            {"key": c.key, "label": c.label, "unit": c.unit, "about": c.about, "shown": c.shown, "spare": c.spare}
            for c in frame.columns
        ],
        "name": frame.name,
        "sort": frame.sort if asked.query.sort is None else asked.query.sort,
        "count": len(found),
        "total": len(frame),
        "occurrences": len(table.occurrences),
        "why_empty": table.why_empty(),
        "offset": offset,
        "id": frame.id[page].tolist(),
        "values": values,
        "texts": list(texts),
        "depth": None if tree is None else tree.depth[offset:end].tolist(),
        "has_children": None if tree is None else tree.has_children[offset:end].tolist(),
    }


def details_impl(tables: Tables, frame: Frame, asked: _Asked, id: int, at: str) -> dict[str, Any]:
    """One row in full, its durations, and one of its occurrences."""
    occurrences = tables.table(asked.table).occurrences
    row = row_of(frame, id, occurrences)
    if row is None:
        raise Problem(404, "There is no such row in this table.")
    found = details(frame, row, occurrences)
    index = _place(found, at)
    return {
        "origin_ns": str(tables.origin_ns),
        "id": int(frame.id[row]),
        "values": {c.key: frame.data.column(c.key)[row].as_py() for c in frame.columns},
        "count": len(found.rows),
        "at": index,
        "median": found.median,
        "slowest": found.slowest,
        "occurrence": None
        if index is None
        else {
            "row": int(found.rows[index]),
            "start": int(found.start_ns[index]) - tables.origin_ns,
            "dur": int(found.dur_ns[index]),
        },
        "histogram": found.histogram and asdict(found.histogram),
        "time_ns": distribution([found.dur_ns]),
    }


def launches_impl(tables: Tables, points: int) -> dict[str, Any]:
    """The charts of the launches, and how many of them are linked."""
    queues, count = queue_points(tables.source, points)
    launched = tables.source.launched
    return {
        "origin_ns": str(tables.origin_ns),
        "launches": launch_points(tables.source, points),
        "queues": queues,
        "queue_count": count,
        **{name: getattr(launched, name) for name in _COUNTS},
    }


def _frame(session: Session, worker: Worker, asked: _Asked) -> tuple[str, Tables, Frame]:
    version, tables = session.tables(worker, asked.table)
    return version, tables, session.frame(tables, asked.table, asked.by)


def _place(found: Details, at: str) -> int | None:
    """The position that a word or a number names, within the occurrences."""
    if len(found.rows) == 0:
        return None
    if at in ("first", "median", "slowest"):
        named = {"first": 0, "median": found.median, "slowest": found.slowest}[at]
        return 0 if named is None else named
    if not at.isdecimal() or len(at) > 15:
        raise Problem(400, "The parameter at must be first, median, slowest or a position.")
    return min(int(at), len(found.rows) - 1)


def _values(frame: Frame, key: str, is_text: bool, page: np.ndarray, texts: dict[str, int]) -> list[Any]:
    """Values of a column; texts as positions in ``texts``, to which new ones are added."""
    taken = frame.data.column(key).take(pa.array(page)).to_pylist()
    if not is_text:
        return taken
    return [None if text is None else texts.setdefault(cut_text(text), len(texts)) for text in taken]


def _bounds(text: str) -> tuple[Bound, ...]:
    """``total_ns:1000:,count::5``: a column, the least and the most value, either of which may be left out."""
    found = []
    for part in text.split(",") if text else ():
        try:
            column, least, most = part.split(":")
            found.append(Bound(column, float(least) if least else None, float(most) if most else None))
        except ValueError:
            raise Problem(400, "The parameter bounds must look like column:least:most,column::most.") from None
    return tuple(found)


def _within(text: str) -> tuple[str, int]:
    """``name:17``: a grouping and the id of one of its rows."""
    by, _, id = text.rpartition(":")
    if not id.isdecimal() or len(id) > 15:
        raise Problem(400, "The parameter within must look like grouping:id.")
    return by, int(id)
