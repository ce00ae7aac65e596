"""The tables of one worker: kernels, operators, modules, memory operations, collectives, allocations, launches,
annotations, requests of inference and their batches, operations that XLA compiled, and these as a tree.

Each has every occurrence as a row of its own, and groups of them. What a group shows is computed by the functions of
``stepscope.analysis`` that the summary is made of.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Protocol

from stepscope.held import array_bytes
from stepscope.schema import Device, Program
from stepscope.tables.allocations import AllocationTable
from stepscope.tables.annotations import AnnotationTable
from stepscope.tables.batches import BatchTable
from stepscope.tables.collectives import CollectiveTable
from stepscope.tables.frame import Frame, Occurrences
from stepscope.tables.hlo import HloTable
from stepscope.tables.hlo_profile import HloProfileTable
from stepscope.tables.kernels import KernelTable
from stepscope.tables.launches import LaunchTable
from stepscope.tables.memory_operations import MemoryOperationTable
from stepscope.tables.modules import ModuleTable
from stepscope.tables.occurrences import row_of
from stepscope.tables.operators import OperatorTable
from stepscope.tables.ordered import Ordered
from stepscope.tables.query import BadQuery, Query, select
from stepscope.tables.requests import RequestTable
from stepscope.tables.source import Source
from stepscope.timeline import Timeline


class Table(Protocol):
    """One table. ``groupings`` tells by what rows can be grouped, in words; a tree cannot."""

    groupings: dict[str, str]

    def why_empty(self) -> str | None:
        """A word for why there are no rows, None where there are: no_window, no_device, no_operator, no_module,
        no_memory_operation, no_collective, no_allocation, no_launch, no_annotation, no_request, no_batch, no_hlo."""
        ...

    @property
    def occurrences(self) -> Occurrences: ...

    def single(self) -> Frame: ...

    def grouped(self, by: str) -> Frame: ...


TABLES: dict[str, type[Any]] = {
    "kernels": KernelTable,
    "operators": OperatorTable,
    "modules": ModuleTable,
    "memory": MemoryOperationTable,
    "collectives": CollectiveTable,
    "allocations": AllocationTable,
    "launches": LaunchTable,
    "annotations": AnnotationTable,
    "requests": RequestTable,
    "batches": BatchTable,
    "hlo": HloTable,
    "hlo_profile": HloProfileTable,
}
#: Rows that are not grouped.
SINGLE = "none"
#: Orders of rows that are kept.
_ORDERS = 16


class Tables:
    """The tables of a timeline as it is now; each is made when it is first asked for. Any thread may ask.

    Args:
        devices: known besides those that the timeline's windows tell.
        programs: reads what XLA compiled of what the timeline shows.
    """

    def __init__(
        self,
        timeline: Timeline,
        devices: Sequence[Device] = (),
        programs: Callable[[], Iterable[Program]] = tuple,
    ) -> None:
        self._timeline = timeline
        self._devices = devices
        self._programs = programs
        self.origin_ns = timeline.origin_ns
        self._lock = threading.RLock()
        self._tables: dict[str, Table] = {}
        self._frames: dict[tuple[str, str], Frame] = {}
        self._orders: OrderedDict[tuple, Ordered] = OrderedDict()
        self._source_bytes = 0  # of the analyses that the frames are made of

    @cached_property
    def source(self) -> Source:
        return Source(self._timeline, self._devices, self._programs)

    def table(self, name: str) -> Table:
        with self._lock:
            if name not in self._tables:
                self._tables[name] = TABLES[name](self.source)
            return self._tables[name]

    def frame(self, name: str, by: str) -> Frame:
        """The rows of a table, grouped or each on its own.

        Raises:
            BadQuery: the table cannot be grouped so.
        """
        with self._lock:
            if (name, by) not in self._frames:
                table = self.table(name)
                if by != SINGLE and by not in table.groupings:
                    raise BadQuery(f"The table {name} cannot be grouped by {by!r}.")
                self._frames[name, by] = table.single() if by == SINGLE else table.grouped(by)
                shared = [segment.events for segment in self._timeline.segments()]
                self._source_bytes = array_bytes([self.source, self._tables], without=shared)
            return self._frames[name, by]

    def ready(self, name: str, by: str) -> Frame | None:
        """The same, if it is made already."""
        return self._frames.get((name, by))

    def order(self, name: str, by: str, query: Query, within: tuple[str, int] | None = None) -> Ordered:
        """Positions of the rows that a query shows; the latest answers are kept for further pages.

        Args:
            within: of rows on their own, those in the group of this grouping with this id.

        Raises:
            BadQuery: there is no such column or group.
            BadPattern: the text is no regular expression.
        """
        key = (name, by, query, within)
        with self._lock:
            if key in self._orders:
                self._orders.move_to_end(key)
                return self._orders[key]
        among = None
        if within is not None:
            group = self.frame(name, within[0])
            row = row_of(group, within[1], self.table(name).occurrences)
            if row is None or by != SINGLE:
                raise BadQuery("There is no such group in this table.")
            among = group.occurrences_of(row)
        order = select(self.frame(name, by), query, among)
        with self._lock:
            self._orders[key] = order
            while len(self._orders) > _ORDERS:
                self._orders.popitem(last=False)
        return order

    @property
    def nbytes(self) -> int:
        """Memory held, roughly."""
        frames, orders = list(self._frames.values()), list(self._orders.values())
        return sum(frame.nbytes for frame in frames) + sum(order.nbytes for order in orders) + self._source_bytes
