"""Imports of foreign trace files, kept so that a file is parsed once.

A cache entry is a window folder named after the file's size, time and the importer's version. It lies in
``.stepscope`` beside the file, in the user's cache folder where that cannot be written, or else among the
temporary files. ``python -m stepscope.cache FILE`` fills it: a viewer imports in a process of its own.
"""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

from stepscope import importers
from stepscope.errors import StepscopeError
from stepscope.schema import Program, Window
from stepscope.store import read_programs, read_window, read_window_meta, write_window

#: Raise it when an importer changes what it makes of a file.
IMPORTER_VERSION = 10

#: Bytes of a file's name that stand in that of its entry, which file systems bound by 255.
_LONGEST_NAME = 150
#: A folder that was begun longer ago belongs to no import that goes on.
_LEFT_AFTER_S = 3600


def _key(path: Path) -> str:
    stat = path.stat()
    name = path.name
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = _digest(name)
    return f"{name}.{stat.st_size}-{stat.st_mtime_ns}-v{IMPORTER_VERSION}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _places(path: Path) -> list[Path]:
    """Where an import may lie, the best place first."""
    name = _digest(str(path.resolve().parent))
    return [path.parent / ".stepscope", *user_places(name)]


def user_places(name: str) -> list[Path]:
    """Folders of this name in the user's cache and among the temporary files; they need not exist."""
    places = []
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if not base.startswith("~"):  # a container's user may have no home
        places.append(Path(base) / "stepscope" / name)
    temporary = Path(tempfile.gettempdir()) / f"stepscope-{_user()}"
    if _is_ours(temporary):
        places.append(temporary / name)
    return places


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else getpass.getuser()


def _is_ours(folder: Path) -> bool:
    """Anybody may make a folder among the temporary files: what another user put there is not read."""
    try:
        return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()
    except FileNotFoundError:
        return True
    except OSError:
        return False


def entry(path: Path) -> Path | None:
    """The cached window of this very version of the file, if there is one."""
    try:
        key = _key(path)
    except OSError:
        return None
    return next((p / key for p in _places(path) if os.path.isfile(p / key / "window.json")), None)


def about(path: Path) -> Window | None:
    """What the cached window says of itself, without its events; None where there is none."""
    cached = entry(path)
    try:
        return None if cached is None else read_window_meta(cached)
    except StepscopeError:
        return None


def programs(path: Path) -> list[Program] | None:
    """What the file says that XLA compiled, from the cached window; None where there is none."""
    cached = entry(path)
    return None if cached is None else read_programs(cached)


def load(path: Path) -> Window:
    """The file's window, from the cache or imported into it.

    Raises:
        StepscopeError: the file is missing or is no trace. A cache that cannot be written is no error.
    """
    cached = entry(path)
    if cached is not None:
        try:
            return read_window(cached)
        except StepscopeError:
            shutil.rmtree(cached, ignore_errors=True)  # damaged: made anew
    window = importers.import_file(path)
    for place in _places(path):
        try:
            place.mkdir(parents=True, exist_ok=True)
            write_window(place / _key(path), window)
        except (OSError, StepscopeError):
            continue
        with contextlib.suppress(OSError):
            _tidy(place, path)
        break
    return window


def _tidy(place: Path, path: Path) -> None:
    """Remove what is kept of former states of the file, and what imports that were killed have left."""
    key = _key(path)
    name = re.escape(key[: key.rindex(".")]) + r"\.\d+-\d+-v(\d+)"
    for found in place.iterdir():
        kept = re.fullmatch(name, found.name)
        begun = re.fullmatch(rf"\.{name}\.\w+\.tmp", found.name)
        if (kept and found.name != key and int(kept[1]) <= IMPORTER_VERSION) or (
            begun and time.time() - found.stat().st_mtime > _LEFT_AFTER_S
        ):
            shutil.rmtree(found, ignore_errors=True)


def main(argv: list[str] | None = None) -> int:
    """Import one file into the cache; on failure one sentence on standard error and exit code 2."""
    path = Path((sys.argv[1:] if argv is None else argv)[0])
    try:
        load(path)
    except (StepscopeError, MemoryError) as error:
        print(str(error) or f"{path}: needs more memory than there is.", file=sys.stderr)
        return 2
    if entry(path) is None:
        print(
            f"{path}: the import cannot be kept; set XDG_CACHE_HOME to a folder that can be written.", file=sys.stderr
        )
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
