"""The table of allocations: each one with its lifetime, or these by operator, module or size."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from stepscope.analysis.groups import Groups
from stepscope.schema import NONE
from stepscope.tables.common import MODULE, START, labels, share, shifted, step_column
from stepscope.tables.frame import Column, Frame, Occurrences, first_rows, frame, known, texts
from stepscope.tables.memory_operations import SIZE_CLASSES, SIZE_EDGES
from stepscope.tables.source import Source

OPERATOR = Column(
    "operator",
    "Operator",
    "text",
    "The innermost operator around the allocation; one that only allocates (aten::empty and the like) counts as the "
    "one around it.",
)
SIZE = Column("size", "Size", "word", "Class of the size.")


class AllocationTable:
    """Allocations of all allocators in the deep windows."""

    groupings = {"operator": "Operator", "module": "Module", "size": "Size", "device": "Device"}

    def __init__(self, source: Source) -> None:
        self._source = source
        found = source.allocators or []
        made = [allocator.records.bytes > 0 for allocator in found]
        parts = [allocator.records.take(rows) for allocator, rows in zip(found, made, strict=True)]

        def joined(values: list[np.ndarray]) -> np.ndarray:
            return np.concatenate([np.empty(0, np.int64), *values])

        self._rows = joined([p.row for p in parts])
        self._bytes = joined([p.bytes for p in parts])
        self._operator = joined([p.operator for p in parts])
        self._module = joined([p.module for p in parts])
        freed = joined([a.freed_ns[rows] for a, rows in zip(found, made, strict=True)])
        self._told = joined([np.full(len(p.row), a.has_addresses) for p, a in zip(parts, found, strict=True)]) > 0
        self._device = joined([np.full(len(p.row), i) for i, p in enumerate(parts)])
        self._names = [allocator_name(a.device, a.name, found) for a in found]
        order = np.argsort(self._rows, kind="stable")
        for column in ("_rows", "_bytes", "_operator", "_module", "_told", "_device"):
            setattr(self, column, getattr(self, column)[order])
        freed = freed[order]
        ts = source.events.ts_ns[self._rows]
        self._lifetime = np.where(self._told & (freed != NONE), freed - ts, NONE)

    def why_empty(self) -> str | None:
        if len(self._source.events) == 0:
            return "no_window"
        return None if len(self._rows) else "no_allocation"

    @cached_property
    def occurrences(self) -> Occurrences:
        """An allocation that was not freed lasts 0 here: how long it lived is not known."""
        return Occurrences(self._rows, self._source.events.ts_ns[self._rows], np.maximum(self._lifetime, 0))

    def single(self) -> Frame:
        """One row an allocation."""
        source, rows = self._source, self._rows
        return frame(
            [
                (OPERATOR, texts(self._operator, source.events.names)),
                (Column("bytes", "Size", "bytes", "Bytes that the allocator handed out."), self._bytes),
                (START, source.moments(rows)),
                (
                    Column("lifetime_ns", "Lifetime", "ns", "Until it was freed; none where that was not recorded."),
                    known(self._lifetime),
                ),
                (
                    Column("kept", "Not freed", "flag", "It was alive at the end of its deep window."),
                    _flags(self._lifetime == NONE, self._told),
                ),
                step_column(source.steps_at(source.events.ts_ns[rows], source.events.step[rows])),
                (MODULE, texts(self._module, source.module_paths)),
                (Column("device", "Device", "text", "The allocator's device."), texts(self._device, self._names)),
            ],
            rows,
            "bytes",
            name="operator",
        )

    def grouped(self, by: str) -> Frame:
        """One row a group."""
        label: tuple[Column, Any]
        if by == "size":
            groups = Groups(np.searchsorted(SIZE_EDGES, self._bytes, "right"))
            label = (SIZE, labels(groups.keys, SIZE_CLASSES))
        elif by == "device":
            groups = Groups(self._device)
            label = (Column("device", "Device", "text", "The allocator's device."), texts(groups.keys, self._names))
        elif by == "module":
            groups = Groups(shifted(self._module))
            label = (MODULE, labels(groups.keys, self._source.module_paths))
        else:
            groups = Groups(shifted(self._operator))
            label = (OPERATOR, labels(groups.keys, self._source.events.names))
        total = groups.sum(self._bytes).tolist()
        kept = self._told & (self._lifetime == NONE)
        return frame(
            [
                label,
                (Column("count", "Count", "count", "Allocations in the deep windows."), groups.count),
                (Column("bytes", "Allocated", "bytes", "Sum of their sizes, whenever they were freed."), total),
                (Column("share", "Share", "share", "Divided by the sum of all allocations."), share(total)),
                (Column("largest", "Largest", "bytes", "The largest one."), groups.max(self._bytes)),
                (
                    Column("kept", "Not freed", "count", "Those alive at the end of their deep window."),
                    _counts(groups.sum(kept.astype(np.int64)), self._told),
                ),
                (
                    Column("kept_bytes", "Not freed, size", "bytes", "Their sizes."),
                    _counts(groups.sum(np.where(kept, self._bytes, 0)), self._told),
                ),
            ],
            first_rows(self._rows, groups.of, len(groups)),
            "bytes",
            groups.of,
            label[0].key,
        )


def allocator_name(device: int | None, name: str | None, all_of: list[Any]) -> str:
    """The device; with the allocator's own name where a device has several."""
    where = "Host" if device is None else f"GPU {device}"
    several = sum(other.device == device for other in all_of) > 1
    return f"{where} ({name or 'unnamed'})" if several else where


def _flags(values: np.ndarray, told: np.ndarray) -> list[bool | None]:
    return [value if ok else None for value, ok in zip(values.tolist(), told.tolist(), strict=True)]


def _counts(values: np.ndarray, told: np.ndarray) -> list[int | None]:
    """Nothing is known of what was freed where no record has an address."""
    return values.tolist() if told.any() else [None] * len(values)
