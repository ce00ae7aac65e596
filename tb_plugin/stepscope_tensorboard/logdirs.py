"""Which folders TensorBoard was asked to show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_URL = re.compile(r"[a-zA-Z][0-9a-zA-Z.+-]*://")
_WINDOWS_DRIVE = re.compile(r"[a-zA-Z]:[\\/]")


@dataclass(frozen=True)
class Root:
    """A folder of runs; ``name`` goes before the names of its runs. ``path`` is None for what is no local folder."""

    text: str
    path: Path | None
    name: str = ""


def roots(logdir: str | None, logdir_spec: str | None) -> list[Root]:
    """The folders of ``--logdir``, or of ``--logdir_spec`` (``name:path,name:path,path``)."""
    if logdir:
        return [_root(logdir, "")]
    found = []
    for part in filter(None, (logdir_spec or "").split(",")):
        name, path = "", part
        if ":" in part and not (part.startswith("/") or _URL.match(part) or _WINDOWS_DRIVE.match(part)):
            name, _, path = part.partition(":")
        found.append(_root(path, name))
    return found


#: What copies a folder of each kind here.
_COPIES = {"s3": "aws s3 sync", "gs": "gcloud storage rsync -r", "az": "azcopy sync", "hdfs": "hadoop fs -get"}


def elsewhere(found: Sequence[Root]) -> str:
    """What to do about folders that are none of this machine."""
    text = ", ".join(root.text for root in found)
    copy = _COPIES.get(found[0].text.partition("://")[0].lower())
    how = f"Copy it ({copy} {found[0].text} FOLDER)" if copy else "Copy it"
    return (
        f"This tab reads folders of this machine, and {text} is none. {how} or mount it, and start TensorBoard on that "
        "folder. stepscope summary takes the address of one run as it is."
    )


def _root(text: str, name: str) -> Root:
    return Root(text, None if _URL.match(text) else Path(text).expanduser(), name)
