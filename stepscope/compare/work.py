"""Operators, kernels and modules of two workers, joined by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from stepscope.compare.sides import Side, lacking

#: What can be joined, and what a worker lacks that has none of it.
TABLES = {
    "operators": "a framework operator in a step captured in depth",
    "kernels": "a kernel in a step captured in depth",
    "modules": "a module in a step captured in depth",
}
#: Between the names of a module's path.
_PATH = " / "
#: What belongs to no module.
NO_MODULE = "(no module)"
_Key = TypeVar("_Key")
#: Time and count by name, or by path.
_Sums = dict[_Key, tuple[int, int | None]]


@dataclass(frozen=True)
class Joined:
    """One name in both workers, 0 in the one that lacks it. Counts are null where the capture does not tell calls."""

    name: str
    status: str
    a_ns: float
    b_ns: float
    difference_ns: float
    accumulated_ns: float
    a_count: float | None
    b_count: float | None


@dataclass(frozen=True)
class Rest:
    """What the rows that are not listed add up to."""

    count: int
    a_ns: float
    b_ns: float
    difference_ns: float


@dataclass(frozen=True)
class Work:
    """Operators, kernels or modules of both workers, joined by name. Times and counts are those of the whole deep
    windows divided by the steps captured in depth. Rows and rest sum to the totals.

    Times are self times, so that nothing counts twice: of kernels their total, of operators and modules that of the
    device work whose innermost operator or module they are, where both workers have it, else of the host. A module has
    its forward and its backward pass; what belongs to none is a row of its own.

    Metrics:
        why: a sentence where one of the workers has none; then all else is null or empty
        basis: device or host
        count: names in all; what belongs to no module is a row without one
        added: names that only the second worker has
        removed: names that only the first worker has
        a_ns: sum over all names, of a step of the first worker
        b_ns: of the second
        difference_ns: b_ns - a_ns
        rows: of each name, the largest difference first: name, status (both, added, removed), a_ns, b_ns,
            difference_ns, accumulated_ns (sum of the differences down to this row), a_count, b_count
        rest: count, a_ns, b_ns and difference_ns of the rows that are not listed
    """

    why: str | None
    basis: str | None
    count: int
    added: int
    removed: int
    a_ns: float | None
    b_ns: float | None
    difference_ns: float | None
    rows: list[Joined]
    rest: Rest | None


def work(a: Side, b: Side, table: str, most: int) -> Work:
    """The rows of one of ``TABLES``, at most ``most`` of them."""
    basis, sums = deep_sums(a, b, table, _path_text if table == "modules" else _name)
    if why := lacking(not sums[0], not sums[1], TABLES[table]):
        return Work(why, None, 0, 0, 0, None, None, None, [], None)
    steps = a.covered("deep_steps"), b.covered("deep_steps")
    joined = []
    for name in {**sums[0], **sums[1]}:
        of = [found.get(name) for found in sums]
        status = "added" if of[0] is None else "removed" if of[1] is None else "both"
        (a_ns, a_count), (b_ns, b_count) = (mean(one, count) for one, count in zip(of, steps, strict=True))
        joined.append((name, status, a_ns, b_ns, b_ns - a_ns, a_count, b_count))
    joined.sort(key=lambda row: (-abs(row[4]), row[0]))
    rows, accumulated = [], 0.0
    for name, status, a_ns, b_ns, difference, a_count, b_count in joined[:most]:
        accumulated += difference
        rows.append(Joined(name, status, a_ns, b_ns, difference, accumulated, a_count, b_count))
    left = joined[most:]
    named = [status for name, status, *_ in joined if name != NO_MODULE]
    whole_a, whole_b = sum(row[2] for row in joined), sum(row[3] for row in joined)
    return Work(
        None,
        basis,
        len(named),
        named.count("added"),
        named.count("removed"),
        whole_a,
        whole_b,
        whole_b - whole_a,
        rows,
        Rest(len(left), sum(row[2] for row in left), sum(row[3] for row in left), sum(row[4] for row in left)),
    )


def deep_sums(a: Side, b: Side, table: str, key: Callable[[dict[str, Any]], _Key]) -> tuple[str, list[_Sums[_Key]]]:
    """Whose time it is (device or host), and time and count of each worker's deep windows by ``key`` of its rows."""
    lists = [side.worker[table] if side.covered("deep_steps") else None for side in (a, b)]
    basis = _basis(table, lists)
    return basis, [_sums(rows or [], basis, key) for rows in lists]


def mean(total: tuple[int, int | None] | None, steps: int) -> tuple[float, float | None]:
    """Time and count of a step."""
    ns, count = (0, 0) if total is None else total
    return ns / steps, None if count is None else count / steps


def _basis(table: str, lists: list[list[dict[str, Any]] | None]) -> str:
    """Device time where both workers have it: times of different processors cannot be subtracted."""
    if table == "kernels":
        return "device"
    return "device" if all(any(_has(row, "device") for row in rows or []) for rows in lists) else "host"


def _fields(row: Mapping[str, Any], basis: str) -> tuple[str, ...]:
    if "total_ns" in row:
        return ("total_ns",)
    if "path" in row:
        return f"forward_{basis}_self_ns", f"backward_{basis}_self_ns"
    return (f"{basis}_self_ns",)


def _has(row: Mapping[str, Any], basis: str) -> bool:
    return any(row[field] is not None for field in _fields(row, basis))


def _name(row: dict[str, Any]) -> str:
    return row["name"]


def _path_text(row: dict[str, Any]) -> str:
    return _PATH.join(row["path"]) or NO_MODULE


def _sums(rows: list[dict[str, Any]], basis: str, key: Callable[[dict[str, Any]], _Key]) -> _Sums[_Key]:
    """Names without a known time are none."""
    found: _Sums[_Key] = {}
    for row in rows:
        if not _has(row, basis):
            continue
        name = key(row)
        count = row["calls"] if "path" in row else row["count"]
        ns, before = found.get(name, (0, 0))
        ns += sum(row[field] or 0 for field in _fields(row, basis))
        found[name] = ns, None if count is None or before is None else before + count
    return found
