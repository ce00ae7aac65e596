"""Runs that lie elsewhere (s3://, gs://, az://, hdfs://, ...): copied to a local folder, then read like any other.

What is known to fsspec can be read. Only trace files and what stepscope recorded are copied, and only what has
changed since the last time. A file that comes shorter than its listing says is fetched again before it is taken
as it is; the importers then tell how far it goes.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from stepscope import cache, importers
from stepscope.errors import StepscopeError
from stepscope.store.layout import PLUGIN_DIR

#: How often a file is fetched that comes incomplete.
TRIES = 3

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+://")  # two letters or more: C:\ is a drive
_MANIFEST = ".manifest.json"
#: What tells one version of an object from another, as the various stores call it.
_VERSION_FIELDS = ("size", "ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "updated", "created")


@dataclass
class Copy:
    """A local copy of what lies at a URL; ``problems`` are sentences about what could not be copied."""

    path: Path
    problems: list[str] = field(default_factory=list)


def is_url(path: str | os.PathLike[str]) -> bool:
    """Whether a path names something elsewhere (or is a ``file://`` URL)."""
    return isinstance(path, str) and _URL.match(path) is not None


def local_path(path: str | os.PathLike[str]) -> Path:
    """A path of this machine from however it is written: a ``file://`` URL, or with another system's separators."""
    text = os.fspath(path)
    if is_url(text):
        try:
            parts = urlsplit(text)
        except ValueError as error:
            raise StepscopeError(f"{text}: is no address ({error}). Check how it is written.") from None
        return Path(url2pathname(unquote(parts.path)) or "/")
    found = Path(text)
    if "\\" in text and os.sep == "/" and not os.path.exists(found):
        return Path(text.replace("\\", "/"))
    return found


def is_local(path: str | os.PathLike[str]) -> bool:
    """Whether ``local_path`` can answer for it."""
    return not is_url(path) or os.fspath(path).lower().startswith("file://")


def local_copy(url: str) -> Copy:
    """Copy a folder or a file with runs or traces here.

    Raises:
        StepscopeError: there is nothing at the URL, or it cannot be listed.
    """
    url = _tidy(url)
    filesystem, root, listed = _list(url)
    folder = _folder(url)
    copy = Copy(folder)
    is_file = set(listed) == {root}
    if is_file:
        copy.path = folder / PurePosixPath(root).name
    known = _read_manifest(folder)
    now: dict[str, Any] = {}
    wanted = {PurePosixPath(path).name if is_file else path[len(root) :].lstrip("/"): path for path in sorted(listed)}
    for name, remote in wanted.items():
        if not _is_wanted(name, is_file):
            continue
        info = listed[remote]
        version = {f: str(info[f]) for f in _VERSION_FIELDS if info.get(f) is not None}
        target = folder / name
        if known.get(name) == version and target.exists():
            now[name] = version
            continue
        problem = _fetch(filesystem, remote, info, target)
        if problem is None:
            now[name] = version
        else:
            copy.problems.append(problem)
    for gone in set(known) - set(wanted):
        (folder / gone).unlink(missing_ok=True)
    (folder / _MANIFEST).write_text(json.dumps(now), encoding="utf-8")
    return copy


def _tidy(url: str) -> str:
    scheme, rest = url.split("://", 1)
    return f"{scheme}://" + re.sub("/{2,}", "/", rest).rstrip("/")


def _list(url: str) -> tuple[Any, str, dict[str, dict[str, Any]]]:
    """The file system, the path in it, and every file below with what the listing tells."""
    scheme = url.split("://", 1)[0]
    try:
        fsspec = importlib.import_module("fsspec")  # by name: nothing else needs it
    except ImportError:
        raise StepscopeError(f"{url}: reading it needs the package fsspec; install stepscope[remote].") from None
    try:
        filesystem, root = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise StepscopeError(f"{url}: paths of the kind {scheme}:// cannot be read here ({error}).") from None
    try:
        filesystem.invalidate_cache()
        root = root.rstrip("/")
        listed = filesystem.find(root, detail=True)
    except Exception as error:  # every store has errors of its own
        raise StepscopeError(f"{url}: it cannot be listed ({type(error).__name__}: {error}).") from None
    if not listed:
        raise StepscopeError(f"{url}: no such file or folder, or nothing in it.")
    return filesystem, root, listed


def _folder(url: str) -> Path:
    """The local folder of a URL: named like its last part, since a folder's name is its run's name."""
    number = hashlib.sha256(url.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    name = re.sub(r"[^\w.\- ]", "_", url.split("://", 1)[1].rsplit("/", 1)[-1]) or "root"
    for place in cache.user_places(f"remote-{number}"):
        folder = place / (name if name.strip(".") else "run")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    raise StepscopeError(f"{url}: there is no local folder to copy it to; set XDG_CACHE_HOME to a writable one.")


def _is_wanted(name: str, is_file: bool) -> bool:
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or PurePosixPath(name).is_absolute() or name == _MANIFEST or "\\" in name:
        return False
    return is_file or importers.is_trace_name(name) or PLUGIN_DIR.parts[0] in parts[:-1]


def _fetch(filesystem: Any, remote: str, info: dict[str, Any], target: Path) -> str | None:
    """Copy one file; a sentence about what went wrong, None if nothing did."""
    beside = target.with_name(f".{target.name}.part")
    size = info.get("size")
    got = None
    for _ in range(TRIES):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            filesystem.get_file(remote, str(beside))
            got = beside.stat().st_size
        except FileNotFoundError:
            target.unlink(missing_ok=True)
            return f"{remote} was listed but is not there any more; it is left out."
        except Exception as error:  # every store has errors of its own
            for path in (beside, target):
                path.unlink(missing_ok=True)
            return f"{remote} could not be fetched ({type(error).__name__}: {error}); it is left out."
        os.replace(beside, target)
        if size is None or got == size:
            return None
        try:
            filesystem.invalidate_cache()
            size = filesystem.info(remote).get("size", size)
        except Exception:
            break
    if got == size:
        return None
    return f"{remote} came incomplete {TRIES} times ({got:,} of {size:,} bytes); what came is shown."


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
