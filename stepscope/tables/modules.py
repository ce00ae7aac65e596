"""The table of modules: the tree of the model's modules with what their forward and backward pass take."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from stepscope.analysis.modules import Module, ModuleTimes, module_times
from stepscope.definitions import meanings
from stepscope.schema import NONE
from stepscope.tables.frame import Column, Frame, Occurrences, frame
from stepscope.tables.source import Source

_M = meanings(Module)

NAME = Column("name", "Module", "text", "The module's class and number, or the name scope, at its place in the model.")
_TIMES = tuple(
    Column(f"{way}_{side}_{what}_ns", label, "ns", _M[f"{way}_{side}_{what}_ns"])
    for way, side, what, label in (
        ("forward", "device", "total", "Forward device"),
        ("forward", "device", "self", "Forward device self"),
        ("backward", "device", "total", "Backward device"),
        ("backward", "device", "self", "Backward device self"),
        ("forward", "host", "total", "Forward host"),
        ("forward", "host", "self", "Forward host self"),
        ("backward", "host", "total", "Backward host"),
        ("backward", "host", "self", "Backward host self"),
    )
)
PATH = Column("path", "Path", "text", "The names of the modules from the outermost to this one.", shown=False)


class ModuleTable:
    """One row a module; the last row, which has no parent, is what belongs to no module."""

    groupings: dict[str, str] = {}

    def __init__(self, source: Source) -> None:
        self._source = source

    def why_empty(self) -> str | None:
        if len(self._source.events) == 0:
            return "no_window"
        return "no_module" if self._source.owners is None else None

    @cached_property
    def occurrences(self) -> Occurrences:
        """Forward calls; of name scopes, which have none, the operators and the device work in them."""
        owners, events = self._source.owners, self._source.events
        rows = np.empty(0, np.int64)
        if owners is not None:
            rows = owners.frame if owners.counts_calls else np.concatenate((owners.frame, owners.told))
        return Occurrences(rows, events.ts_ns[rows], events.dur_ns[rows])

    def single(self) -> Frame:
        """The tree."""
        source, owners = self._source, self._source.owners
        if owners is None:
            return frame([(NAME, [])], np.empty(0, np.int64), "name", parent=np.empty(0, np.int64))
        times = module_times(source.events, source.links, source.calls, owners)
        count = len(owners)
        on_device = times.of_modules["forward_device"]
        entries = [times.entry(i) for i in range(count + 1)]
        of = owners.frame_owner if owners.counts_calls else np.concatenate((owners.frame_owner, owners.told_owner))
        shares, of_what = _shares(times)
        return frame(
            [
                (NAME, [*owners.label, None]),
                (Column("calls", "Calls", "count", _M["calls"]), [e["calls"] for e in entries]),
                *((replace(c, shown=_is_shown(c.key, times)), _column(entries, c.key)) for c in _TIMES),
                (
                    Column(
                        "share",
                        "Share",
                        "share",
                        f"{of_what} of the module and the modules in it, divided by that of all modules and of what "
                        "belongs to none.",
                    ),
                    shares,
                ),
                (PATH, [*source.module_paths, None]),
            ],
            np.arange(count + 1),
            "share" if on_device else "forward_host_total_ns",
            of,
            parent=np.append(owners.parent, NONE),
        )

    def grouped(self, by: str) -> Frame:
        raise NotImplementedError(by)


def _column(entries: list[dict[str, int | None]], key: str) -> list[int | None]:
    """A column of all modules. What belongs to none has no total: there is nothing inside it."""
    values = [entry[key] for entry in entries]
    return [*values[:-1], None] if "_total_" in key else values


def _is_shown(key: str, times: ModuleTimes) -> bool:
    part = key[: key.index("_", key.index("_") + 1)]
    if not (times.of_modules[part] or times.of_rest[part]):
        return False
    on_device = times.of_modules["forward_device"]
    return "device" in key if on_device else True


def _shares(times: ModuleTimes) -> tuple[np.ndarray, str]:
    """The share of each entry, and what it is a share of."""
    side = "device" if times.of_modules["forward_device"] else "host"
    parts = [p for p in (f"forward_{side}", f"backward_{side}") if times.of_modules[p] or times.of_rest[p]]
    total = np.sum([times.total_ns[p] for p in parts], axis=0)
    own = np.sum([times.self_ns[p] for p in parts], axis=0)
    total[-1] = own[-1]
    what = f"{side.capitalize()} time of the forward and the backward pass"
    whole = int(own.sum())
    return total / whole if whole else np.full(len(total), np.nan), what
