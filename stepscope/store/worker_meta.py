"""What worker.json says, as far as it can be used: a damaged one must not hide the steps that lie beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from stepscope.errors import StepscopeError
from stepscope.schema import Note
from stepscope.store.layout import WorkerFolder, read_json

_FOLDER = re.compile(r"(x|\d{1,9})-(.*)-(\d{1,9})")


def _integer(value: object) -> bool:
    return value is None or (isinstance(value, int) and -(2**63) <= value < 2**63)


def _text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _object(value: object) -> bool:
    return value is None or isinstance(value, dict)


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _note(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("count"), int) and _texts([value["code"], value["detail"]])


def _listed(holds: Callable[[Any], bool]) -> Callable[[object], bool]:
    def fits(value: object) -> bool:
        try:
            return isinstance(value, list) and all(holds(item) for item in value)
        except KeyError:
            return False

    return fits


def _threads(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(name, str) for name in value.values())


#: What each member must be; other members are kept as they are.
_FITS: dict[str, Callable[[object], bool]] = {
    "rank": _integer,
    "world_size": _integer,
    "host": _text,
    "pid": _integer,
    "framework": _text,
    "devices": _listed(lambda item: isinstance(item, dict)),
    "threads": _threads,
    "started_ns": _integer,
    "ended_ns": _integer,
    "phases": _texts,
    "notes": _listed(_note),
    "overhead": _object,
    "loader": _object,
    "batch_size": _integer,
    "options": _object,
    "versions": _object,
}


def usable_meta(folder: WorkerFolder) -> tuple[dict[str, Any], Note | None]:
    """The members of worker.json that are what they should be; rank, host and process else from the folder's name.

    Returns:
        The members, and a note where the file or parts of it cannot be used.

    Raises:
        StepscopeError: there is no worker.json.
    """
    try:
        meta = folder.read_meta()
    except StepscopeError as error:
        if not os.path.isfile(folder.path / "worker.json"):
            raise
        return _named(folder.id), Note("damaged_meta", 1, str(error))
    odd = sorted(key for key, fits in _FITS.items() if key in meta and not fits(meta[key]))
    if not odd:
        return meta, None
    kept = {key: value for key, value in meta.items() if key not in odd}
    detail = f"{folder.path / 'worker.json'}: left out is what cannot be used ({', '.join(odd)})."
    return {**_named(folder.id), **kept}, Note("damaged_meta", len(odd), detail)


def monitor_notes(folder: WorkerFolder) -> list[Note]:
    """What the sampler left to tell; worker.json has it too once its recording has ended in order."""
    try:
        told = read_json(folder.monitor_notes_path()).get("notes")
        return [Note(n["code"], n["count"], n["detail"]) for n in told if _note(n)] if isinstance(told, list) else []
    except (StepscopeError, KeyError):
        return []


def _named(name: str) -> dict[str, Any]:
    """What the name that ``RunFolder.create_worker`` gave tells."""
    found = _FOLDER.match(name)
    if found is None:
        return {}
    rank, host, pid = found.groups()
    return {"rank": None if rank == "x" else int(rank), "host": host, "pid": int(pid)}
