"""What a recording tells of itself: worker.json, and on a full disk at least why the recording ended."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
import traceback
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stepscope.clock import Clock
from stepscope.schema import Notes
from stepscope.store import WorkerFolder

log = logging.getLogger("stepscope")

#: Bytes set aside for worker.json, which is to tell why a recording ended even if the disk is full.
RESERVE_BYTES = 32_768

_MAX_MESSAGE = 500


class Told:
    """The fields and notes of worker.json. Any thread may add to them; one thread at a time writes.

    Args:
        fields: the first ones. The dictionary is kept.
        clock: whose anchors are told.
    """

    def __init__(self, fields: dict[str, Any], clock: Clock) -> None:
        self.fields = fields
        self.notes = Notes()
        self.is_new = False  # something is not written yet
        self.is_unsaid = False  # why the recording ended could not be written
        self._clock = clock
        self.folder: WorkerFolder | None = None  # None: there is none yet, and nothing is written
        self._reserve: Path | None = None  # a file that is given up for the last words on a full disk

    def set_aside(self, folder: WorkerFolder) -> None:
        """Keep room in the folder for the last words.

        Raises:
            OSError: there is none.
        """
        self._reserve = folder.path / ".reserve"
        self._reserve.write_bytes(os.urandom(RESERVE_BYTES))

    def note(self, code: str, detail: str, count: int = 1) -> None:
        self.notes.add(code, detail, count)
        self.is_new = True

    def update(self, **fields: Any) -> None:
        self.fields.update(fields)
        self.is_new = True

    def exception(self, error: BaseException, step: int | None) -> None:
        """The training ends with an exception: keep its type, its message and where it came from."""
        if isinstance(error, GeneratorExit) or (isinstance(error, SystemExit) and not error.code):
            return
        frames = traceback.extract_tb(error.__traceback__)
        self.update(
            exception={
                "type": type(error).__name__,
                "message": _text(error)[:_MAX_MESSAGE],
                "step": step,
                "at": f"{frames[-1].filename}:{frames[-1].lineno} in {frames[-1].name}" if frames else None,
                "ts_ns": time.time_ns(),
            }
        )

    def name_threads(self, tids: Iterable[int]) -> None:
        """Keep the names of threads while they are there."""
        known = self.fields["threads"]
        new = {str(t) for t in tids} - known.keys()
        if new:
            names = {str(t.native_id): t.name for t in threading.enumerate()}
            known.update({t: names.get(t, f"thread {t}") for t in new})
            self.is_new = True

    def write(self) -> None:
        if self.folder is None:
            return
        self.is_new = False
        self.fields["notes"] = [asdict(n) for n in self.notes.list()]
        self.fields["anchors"] = [asdict(a) for a in self._clock.anchors]
        self.folder.write_meta(self.fields)

    def say_why(self) -> None:
        """Leave the reason of the end in worker.json, now or when that can be written again."""
        self.is_unsaid = True
        try:
            self.write()
            self.is_unsaid = False
        except Exception:
            log.debug("the reason could not be written to worker.json", exc_info=True)

    def leave_last_words(self, detail: str) -> None:
        """Have a process of its own write a reason that this one cannot wait for."""
        from stepscope.last_words import leave

        try:
            assert self.folder is not None
            leave(self.folder, detail)
        except Exception as error:
            log.debug("the reason will not be in the run: %s", error)

    def reason(self) -> str:
        """Why the recording stopped by itself."""
        return {note.code: note.detail for note in self.notes.list()}["recording_stopped"]

    def free_reserve(self) -> None:
        if self._reserve is not None:
            with contextlib.suppress(OSError):
                self._reserve.unlink(missing_ok=True)


def _text(name: object) -> str:
    """Any text such that a file can hold it; names of files may hold surrogates, which cannot be encoded."""
    return str(name).encode("utf-8", "replace").decode("utf-8")
