"""Writes docs/metrics.md from the docstrings of the analyses: ``python docs/make_metrics.py``.

The text before "Metrics:" in a docstring is the section's definition; each line after it is "name: meaning".
A test fails where metrics.md is not what this script makes.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from stepscope import monitor
from stepscope.analysis import quality
from stepscope.catalogue import SECTIONS, unit_of
from stepscope.definitions import split

TARGET = Path(__file__).with_name("metrics.md")

HEAD = """<!-- Made by docs/make_metrics.py from the docstrings of stepscope/analysis. Do not edit. -->
# Every number and its definition

`stepscope summary PATH --format json` prints these numbers and the TensorBoard tab shows them. All times are
integer nanoseconds, sizes bytes, ratios 0 to 1. `null` means that a value was not measured, which is never 0.
Percentiles are by nearest rank: a value that occurred, never an interpolation. `findings`, `verdict` and `bound` are
told in [rules.md](rules.md); `problems` are sentences on files of the run that could not be opened.

*Host* rows are events of CPU threads, *device work* is kernels, collectives, copies and fills on a device's queues.
Time sums over threads or streams count every thread and stream; what is called a union counts each moment once.
"""


def page() -> str:
    """The whole of metrics.md."""
    parts = [HEAD]
    for title, place, unit, documented in SECTIONS:
        text, metrics = as_markdown(documented)
        rows = [f"| `{name}` | {unit_of(name, unit)} | {meaning} |" for name, meaning in metrics]
        source = f"`{documented.__module__}.{documented.__name__}`"
        parts.append(
            f"\n## {title}\n`{place}`, computed by {source}\n\n{text}\n\n| name | unit | meaning |\n|---|---|---|"
        )
        parts.append("\n".join(rows))
    parts.append("\n## Metrics of the resource monitor\n")
    parts.append(_monitor_table())
    parts.append(
        "\n## Data quality codes\n`workers[].quality[]`: what was dropped, repaired, guessed or absent, and how often. "
        "Nothing is left out without one.\n\n| code | meaning |\n|---|---|"
    )
    parts.append("\n".join(f"| `{code}` | {meaning} |" for code, meaning in quality.CODES.items()))
    return "\n".join(parts) + "\n"


def as_markdown(documented: Any) -> tuple[str, list[tuple[str, str]]]:
    """The text of a docstring as Markdown, and its entries under "Metrics:"."""
    text, entries = split(documented)
    return text.replace("``", "`"), [
        (name, meaning.replace("``", "`").replace("|", "\\|")) for name, meaning in entries
    ]


def _monitor_table() -> str:
    doc = inspect.getdoc(monitor) or ""
    return "\n".join(line.replace("``", "`") for line in doc.splitlines() if line.startswith("|"))


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
