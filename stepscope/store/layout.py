"""Where things lie in a run folder, and how names are made so that no two writers ever meet.

<run>/plugins/stepscope/
  run.json                            written once, by the first worker
  workers/<rank>-<host>-<pid>/
    worker.json                       replaced as a whole at each change
    live-000001.arrows                steps, phases, annotations (LIVE_SCHEMA)
    monitor-000001.arrows             resource samples (MONITOR_SCHEMA)
    monitor-notes.json                what could not be sampled: {"notes": [...]}; absent if there is nothing to tell
    windows/000001/                   one deep window each (store/windows.py)
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stepscope.errors import StepscopeError
from stepscope.schema import SCHEMA_VERSION
from stepscope.store.plain import plain

PLUGIN_DIR = Path("plugins") / "stepscope"

#: Of a host's name, in that of a worker's folder, which file systems bound by 255 bytes.
_HOST_LETTERS = 200


def write_json(path: Path, data: dict) -> None:
    """Write beside and rename: a reader sees the old file or the new one, never a half."""
    # A line a field: with ``indent`` the json module makes it all in Python, while the training waits for the GIL.
    fields = (f"{json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in data.items())
    text = "{\n" + ",\n".join(fields) + "\n}\n"
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def write_json_once(path: Path, data: dict) -> bool:
    """Write a file that stays the first writer's, whoever else writes it meanwhile; False if it was there."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")  # processes of two hosts may have one number
    beside.write_text(json.dumps(data, indent=1), encoding="utf-8")
    try:
        os.link(beside, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        if path.exists():
            return False
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    return True


def read_json(path: Path) -> dict:
    """The object in a JSON file.

    Raises:
        StepscopeError: the file is missing, unreadable or no JSON object.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda _: None)
    except (OSError, ValueError, RecursionError) as error:
        raise StepscopeError(f"{path}: cannot be read as JSON ({error}).") from error
    if not isinstance(data, dict):
        raise StepscopeError(f"{path}: expected a JSON object, found {type(data).__name__}.")
    return data


class WorkerFolder:
    """The folder of one worker process."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def id(self) -> str:
        return self.path.name

    def write_meta(self, meta: dict) -> None:
        write_json(self.path / "worker.json", meta)

    def read_meta(self) -> dict:
        return read_json(self.path / "worker.json")

    def live_path(self) -> Path:
        return self.path / "live-000001.arrows"

    def monitor_path(self) -> Path:
        return self.path / "monitor-000001.arrows"

    def monitor_notes_path(self) -> Path:
        return self.path / "monitor-notes.json"

    def new_window(self) -> Path:
        """The path of the next window. It does not exist yet: ``write_window`` makes it."""
        taken = [int(p.name) for p in self.windows()]
        return self.path / "windows" / f"{max(taken, default=0) + 1:06d}"

    def windows(self) -> list[Path]:
        """Finished windows, in order."""
        try:
            return sorted(p for p in (self.path / "windows").iterdir() if p.name.isdigit())
        except OSError:
            return []


class RunFolder:
    """The folder of one run: ``path`` is what the user named, e.g. ``runs/exp1``."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.root = self.path / PLUGIN_DIR

    def exists(self) -> bool:
        return os.path.isdir(self.root / "workers")  # False, not an error, where that may not be known

    def workers(self) -> list[WorkerFolder]:
        try:
            paths = sorted((self.root / "workers").iterdir())
        except OSError:
            return []
        return [WorkerFolder(p) for p in paths if os.path.isfile(p / "worker.json")]

    def read_run(self) -> dict:
        """run.json.

        Raises:
            StepscopeError: there is none that can be read.
        """
        return read_json(self.root / "run.json")

    def create_worker(
        self, rank: int | None, host: str, pid: int, metadata: Mapping[str, Any] | None = None
    ) -> WorkerFolder:
        """Make a folder that no other process has, and ``run.json`` with the metadata if this is the first worker.

        Raises:
            StepscopeError: the folder cannot be made.
        """
        host = re.sub(r"[^A-Za-z0-9_.-]", "_", host)[:_HOST_LETTERS]
        base = f"{'x' if rank is None else rank}-{host}-{pid}"
        parent = self.root / "workers"
        try:
            parent.mkdir(parents=True, exist_ok=True)
            for attempt in range(1, 1000):
                path = parent / (base if attempt == 1 else f"{base}-{attempt}")
                try:
                    path.mkdir()
                    break
                except FileExistsError:
                    continue
            else:
                raise FileExistsError(f"{parent / base} and 998 numbered ones exist")
            about = {"schema": SCHEMA_VERSION, "created_ns": time.time_ns(), "metadata": plain(metadata or {})}
            write_json_once(self.root / "run.json", about)
        except OSError as error:
            reason = error.strerror or error
            raise StepscopeError(
                f"{self.path}: cannot be written ({reason}). Choose a folder that this process may write to."
            ) from error
        return WorkerFolder(path)
