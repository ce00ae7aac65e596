"""The workers that run beside this one, seen from the inside: one asks them all for a window of the same steps."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import Any

from stepscope.control import CAPTURE, EXPIRES_S, LEAD_S, MAX_WORKERS, Reason, Request, ask_once
from stepscope.recorder import Recorder
from stepscope.watch import BEAT_S

#: A worker that has shown no sign of life for so long, by the file system's clock, is not asked.
_SILENT_S = 3 * BEAT_S


class Companions:
    """Those of the recorder's worker. For the writer thread."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def ask(self, reason: dict[str, Any], steps: int, usual_ns: int) -> bool:
        """Ask all workers that run, this one included, for a window that begins at the same step in each.

        Several that see the same thing in the same step make one request. False if there is none beside this one, or
        the folder cannot be written.

        Args:
            reason: what ``stepscope.flight`` saw.
            usual_ns: what a step usually takes; 0 where that is not known, and each begins as soon as it can.
        """
        folder, world_size = self._recorder.folder, self._recorder.meta["world_size"]
        if folder is None or not world_size or world_size < 2:
            return False
        try:
            workers = _running_beside(folder.path)
            if len(workers) < 2:
                return False
            told = Reason(**reason, rank=self._recorder.meta["rank"])
            # From where the training is by now: what was seen has waited for a look of the writer thread.
            now_at = max(told.step, self._recorder.step)
            at_step = now_at + 1 + math.ceil(LEAD_S * 1e9 / usual_ns) if usual_ns else 0
            expires_ns = time.time_ns() + int(EXPIRES_S * 1e9)
            for first in range(0, len(workers), MAX_WORKERS):
                some = workers[first : first + MAX_WORKERS]
                request = Request(CAPTURE, some, expires_ns, steps, at_step, reason=told)
                ask_once(self._recorder.run, request, f"{told.why} {told.step} {first}")
        except OSError:
            return False
        return True


def _running_beside(folder: Path) -> list[str]:
    """Ids of the workers that have shown a sign of life, that of this folder among them."""
    own_s = os.stat(folder / "worker.json").st_mtime
    found = []
    for entry in os.scandir(folder.parent):
        try:
            if os.stat(Path(entry.path) / "worker.json").st_mtime > own_s - _SILENT_S:
                found.append(entry.name)
        except OSError:
            continue
    return sorted(found)
