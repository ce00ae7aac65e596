"""Which sources an extension was built from: one that is older than the Python beside it must not be used.

setup.py runs this file by itself, before anything is installed.
"""

from __future__ import annotations

import hashlib
from pathlib import Path


def digest(folder: Path) -> int:
    """A number for the C++ in a folder; 0 where there is none, as in an installed package."""
    paths = sorted(path for path in folder.glob("*") if path.suffix in (".cpp", ".h"))
    if not paths:
        return 0
    found = hashlib.blake2b(digest_size=6)
    for path in paths:
        found.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return int.from_bytes(found.digest(), "big")
