"""Leaves a reason in a worker's folder that cannot be written, or does not answer, while the training ends.

``python -m stepscope.last_words FOLDER PARENT_PID DETAIL`` waits until the training is gone and the folder can be
written, some minutes at most. Where the writer thread has closed the recording meanwhile, there is nothing to add.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from stepscope.errors import StepscopeError
from stepscope.store import WorkerFolder

#: Seconds after which it gives up; the kernel ends it then even in the middle of a read that does not return.
PATIENCE_S = 600
_LOOK_S = 0.2


def leave(folder: WorkerFolder, detail: str) -> None:
    """Start the process that waits. Nothing waits for it.

    Raises:
        OSError: it could not be started.
    """
    from stepscope.child import child_environment

    subprocess.Popen(
        [sys.executable, "-m", __name__, str(folder.path.absolute()), str(os.getpid()), detail],
        cwd=os.sep,  # any folder but that of the run, which does not answer
        env=child_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def wait_and_tell(folder: WorkerFolder, parent: int, detail: str) -> None:
    ended_ns = time.time_ns()
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    while folder.path.is_dir():
        try:
            meta = folder.read_meta()
            if meta.get("ended_ns") is None:
                meta["notes"] = [*meta.get("notes", []), {"code": "recording_stopped", "count": 1, "detail": detail}]
                meta["ended_ns"] = ended_ns
                folder.write_meta(meta)
            (folder.path / ".reserve").unlink(missing_ok=True)
            return
        except (OSError, StepscopeError):
            time.sleep(_LOOK_S)


if __name__ == "__main__":
    if hasattr(signal, "alarm"):
        signal.alarm(PATIENCE_S)
    wait_and_tell(WorkerFolder(Path(sys.argv[1])), int(sys.argv[2]), sys.argv[3])
