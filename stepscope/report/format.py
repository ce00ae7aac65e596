"""Numbers and names as a reader wants them: three significant digits, units, plain columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from stepscope.report import width
from stepscope.report.names import brief

NOT_MEASURED = "not measured"
#: No column of texts is made narrower.
LEAST_COLUMN = 12


def time(ns: float | None) -> str:
    """A duration: 1234567 is "1.23 ms"."""
    if ns is None:
        return NOT_MEASURED
    return _scaled(ns, 1000, ("ns", "µs", "ms", "s"))


def size(count: float | None) -> str:
    """Bytes in powers of 1024."""
    return NOT_MEASURED if count is None else _scaled(count, 1024, ("B", "KiB", "MiB", "GiB", "TiB"))


def rate(bytes_per_s: float | None) -> str:
    """Bytes per second in powers of 1000, as device makers state bandwidth."""
    return NOT_MEASURED if bytes_per_s is None else _scaled(bytes_per_s, 1000, ("B/s", "kB/s", "MB/s", "GB/s", "TB/s"))


def percent(ratio: float | None) -> str:
    return NOT_MEASURED if ratio is None else f"{ratio * 100:.1f} %"


def scaled(value: float, unit: str = "") -> str:
    """A count in powers of 1000: 1.23 G."""
    return _scaled(value, 1000, [f"{prefix}{unit}" for prefix in ("", "k", "M", "G", "T", "P")]).strip()


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number and what it counts, by default with an s from two on."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def name(text: str, width: int = 60) -> str:
    """A name from a trace, safe for a terminal and no wider than ``width``; a wider kernel name is told in short."""
    safe = printable(text)
    if len(safe) > width:
        safe = brief(safe)
    return safe if len(safe) <= width else safe[: width - 3] + "..."


def printable(text: str) -> str:
    """The text without what moves a terminal's cursor, turns its letters round, or is no Unicode."""
    return "".join(c if c.isprintable() else "?" for c in text)


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Lines of aligned columns, indented by two; columns whose number is in ``right`` end flush.

    Where the report has a width, texts of the widest column are continued below, not those of the others.
    """
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    too_much = sum(widths) + 2 * len(widths) - (width.columns() or 1_000_000)
    widest = widths.index(max(widths))
    if too_much > 0 and widest not in right:
        widths[widest] = max(LEAST_COLUMN, widths[widest] - too_much)
    lines = []
    for row in rows:
        first, *rest = textwrap.wrap(row[widest], widths[widest]) or [""]
        if len(row[widest]) <= widths[widest]:  # as it is: spaces at its begin are an indent
            first, rest = row[widest], []
        for part, cells in ((first, row), *((part, [""] * len(row)) for part in rest)):
            texts = [part if i == widest else cell for i, cell in enumerate(cells)]
            padded = [
                t.rjust(w) if i in right else t.ljust(w) for i, (t, w) in enumerate(zip(texts, widths, strict=True))
            ]
            lines.append(("  " + "  ".join(padded)).rstrip())
    return lines


def _scaled(value: float, base: int, units: Sequence[str]) -> str:
    scaled, unit = float(value), units[0]
    for unit in units:
        if abs(scaled) < base or unit == units[-1]:
            break
        scaled /= base
    if unit == units[0] or abs(scaled) >= 100:
        return f"{scaled:,.0f} {unit}"
    return f"{scaled:.3g} {unit}" if abs(scaled) < 10 else f"{scaled:.1f} {unit}"
