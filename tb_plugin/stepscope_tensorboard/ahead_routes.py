"""The route by which a page that rests has made what the next look into another tab asks for."""

from __future__ import annotations

from stepscope_tensorboard.answers import json_answer
from stepscope_tensorboard.parameters import Parameters
from stepscope_tensorboard.routes import Made, Route, WorkerRoutes


class AheadRoutes(WorkerRoutes):
    def routes(self) -> dict[str, Route]:
        """The routes by name."""
        return {"ahead": self.ahead}

    def ahead(self, p: Parameters) -> Made:
        _, worker, session = self._worker(p)
        session.make_ahead(worker)
        return None, lambda: json_answer({"ready": True})
