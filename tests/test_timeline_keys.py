"""The keys of the timeline are told in two places: on the page and in docs/timeline.md."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_document_tells_every_key_of_the_page() -> None:
    page = (ROOT / "tb_plugin" / "frontend" / "src" / "timeline" / "help.tsx").read_text(encoding="utf-8")
    rows = re.findall(r"\[\[((?:\"[^\"]+\",? ?)+)\], \"", page.split("const MOUSE")[0])
    keys = {word for row in rows for text in re.findall(r"\"([^\"]+)\"", row) for word in text.split()}
    assert {"W", "Enter", "Alt", "?"} <= keys
    document = (ROOT / "docs" / "timeline.md").read_text(encoding="utf-8")
    table = document[document.index("| key |") :]
    assert keys - set(re.findall(r"`([^`]+)`", table)) == set()
