"""What the tab opens with is read when the server starts, while nobody waits for it."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from pathlib import Path

import numpy as np

from stepscope import cache
from stepscope.workers import FileWorker, RecordedWorker, Worker
from stepscope_tensorboard.answers import Pending
from stepscope_tensorboard.listing import Listing
from stepscope_tensorboard.sessions import Sessions

log = logging.getLogger("stepscope")

#: Of workers whose files are larger nothing is read before it is asked for: not all who start TensorBoard come here.
#: That is about three million events, 0.3 GB of memory and some seconds.
MAX_BYTES = 16 << 20

#: Of the view, about.
_PIXELS = 1000


class FirstLook:
    """Reads timeline and analysis of the first worker of the latest run, once; who comes for another loses nothing."""

    def __init__(self, listing: Listing, sessions: Sessions) -> None:
        self._listing = listing
        self._sessions = sessions
        self._began = threading.Lock()

    def begin(self) -> None:
        """Begin in the background; nothing after the first call."""
        if self._began.acquire(blocking=False):
            threading.Thread(target=self._read, name="stepscope-first-look", daemon=True).start()

    def _read(self) -> None:
        try:
            run = next((run for run in self._listing.runs().values() if run.workers), None)
            if run is None or _stored_bytes(run.workers[0]) > MAX_BYTES:
                return
            _, worker = self._listing.worker(run.id, run.workers[0].id)
            session = self._sessions.of(run.id, worker)
            with contextlib.suppress(Pending):  # it goes on
                session.summary(worker)  # first, as the first tab shows it
            timeline = session.timeline(worker)
            tree = timeline.tree()  # it keeps what it counts, and a view loads what draws it
            lanes = [lane["id"] for lane in tree["lanes"]]
            timeline.view(tree["t0"], tree["t1"], _PIXELS, lanes)
            timeline.curves(np.array([tree["t0"], tree["t1"]], np.float64), lanes)
        except Pending:
            pass  # it goes on
        except Exception as error:
            log.debug("the first look failed: %s", error)  # who asks for the worker is told


def _stored_bytes(worker: Worker) -> float:
    """Bytes of the worker's files; infinite for a trace file that has to be imported first."""
    folder = worker.folder.path if isinstance(worker, RecordedWorker) else None
    if isinstance(worker, FileWorker):
        folder = cache.entry(worker.path)
    if folder is None:
        return float("inf")
    return sum(os.path.getsize(Path(base, name)) for base, _, names in os.walk(folder) for name in names)
