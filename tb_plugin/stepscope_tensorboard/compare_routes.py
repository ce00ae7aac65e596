"""The route that compares two workers, of one run or of two."""

from __future__ import annotations

from stepscope.compare import MOST_ROWS, Side, compare
from stepscope_tensorboard.answers import Answer, Cancelled, Pending, Problem, cut_text, isolated, json_answer
from stepscope_tensorboard.parameters import Parameters
from stepscope_tensorboard.routes import Made, Route, WorkerRoutes
from stepscope_tensorboard.sessions import Summarised

MAX_ROWS = 5000


class CompareRoutes(WorkerRoutes):
    def routes(self) -> dict[str, Route]:
        """The routes by name."""
        return {"compare": self.compare}

    def compare(self, p: Parameters) -> Made:
        most = p.integer("most", MOST_ROWS, least=1, most=MAX_ROWS)
        with_run, with_worker = p.text("with_run"), p.text("with_worker")
        run, worker, session = self._worker(p)
        other_run, other = self._listing.worker(with_run, with_worker)
        own = session.summary(worker)
        try:
            base = self._sessions.of(other_run.id, other).summary(other)
        except Cancelled as cancelled:
            # A button of the page would begin the import of the worker on show, not of this one.
            name = isolated(other.id)
            raise Problem(409, f"The import of {name} was cancelled; open it by itself to import it.") from cancelled
        except Pending as pending:
            raise Pending(str(pending)) from pending

        def side(name: str, of: Summarised) -> Side:
            return Side(name, of.analysis.summary, of.resources)

        def made() -> Answer:
            found = compare(side(other_run.name, base), side(run.name, own), most)
            for table in found["work"].values():
                for row in table["rows"]:
                    row["name"] = cut_text(row["name"])
            for node in found["module_tree"]:
                node["name"] = cut_text(node["name"])
            return json_answer(found)

        version = f"{base.updated_ns}-{own.updated_ns}"
        return version, made
