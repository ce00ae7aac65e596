"""Transfers between slices of TPUs (MegaScale) in an XSpace: their operations on the core become collectives.

A collective is a ``send``, its ``send-done``, a ``recv`` and its ``recv-done`` in the line of XLA's operations. Only
the compiled program tells which belong together: by the name of their rendezvous, or by a channel that one with that
name has. Each pair of ``send`` and ``recv-done`` becomes a run on a lane of its rendezvous; the operations themselves
are waits of the core. Names of attributes and stats are those of xprof (xprof/convert/xspace_to_dcn_slack_analysis).
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepscope.hlo.module import Instruction, Module, read_module
from stepscope.importers.megascale_info import COLLECTIVE_INFO
from stepscope.importers.xplane_programs import id_in_name
from stepscope.schema import COLUMN_DTYPES, NONE, Events, Kind, Lane, Notes, Program

_CATEGORIES = frozenset({"host send", "host send-done", "host recv", "host recv-done"})
_RENDEZVOUS, _TRANSFER = "_xla_host_transfer_rendezvous", "_xla_megascale_transfer_type"
_MODULES = "XLA Modules"
#: An operation's name, alone or before its text: "%send.3 = (f32[8]) send(...)".
_NAME = re.compile(r"%?([^\s=]+)")
#: What a kind of transfer is called, and how its message follows from the buffer that a core receives (n: group size).
_KINDS: dict[str, tuple[str, Callable[[int, int | None], int | None]]] = {
    "ALL_REDUCE": ("all_reduce", lambda received, n: received),
    "ALL_GATHER": ("all_gather", lambda received, n: received),
    "ALL_TO_ALL": ("all_to_all", lambda received, n: received),
    "REDUCE_SCATTER": ("reduce_scatter", lambda received, n: None if n is None else received * n),
    "ONE_TO_ONE": ("send_recv", lambda received, n: received),
}


@dataclass
class _Operation:
    row: int
    opcode: str
    device: int
    rendezvous: str
    transfer: str
    group_size: int | None
    bytes: int


def add_collectives(events: Events, programs: list[Program], notes: Notes) -> Events:
    """The events with a run for each collective; the same where there is none."""
    operations = _operations(events, programs, notes)
    if not operations:
        return events
    args = list(events.args_values)
    known = {text: i for i, text in enumerate(args)}

    def code(told: dict[str, Any]) -> int:
        text = json.dumps({k: v for k, v in told.items() if v is not None}, separators=(",", ":"), ensure_ascii=False)
        return known.setdefault(text, len(known))

    of_row, kinds = events.args.copy(), events.kind.copy()
    for each in operations:
        own = events.args_of(each.row) | {"rendezvous": each.rendezvous, "megascale": each.opcode}
        of_row[each.row] = code(own)
        kinds[each.row] = Kind.SYNC
    names = {text: i for i, text in enumerate(events.names)}
    lanes, places = list(events.lanes), {}
    added: dict[str, list[int]] = {c: [] for c in ("ts_ns", "dur_ns", "lane", "name", "device", "args")}
    for send, done in _pairs(operations, events):
        place = (done.device, done.rendezvous)
        if place not in places:
            places[place] = len(lanes)
            lanes.append(_lane(events.lanes[events.lane[done.row]], done))
        start, end = int(events.ts_ns[send.row]), int(events.ends_ns(done.row))
        values = (start, end - start, places[place], names.setdefault(done.rendezvous, len(names)), done.device)
        for column, value in zip(added, (*values, code(_told(send, done))), strict=True):
            added[column].append(value)
    count = len(added["ts_ns"])
    columns = {}
    for column, dtype in COLUMN_DTYPES.items():
        own = {"args": of_row, "kind": kinds}.get(column, getattr(events, column))
        fill = {"kind": Kind.COLLECTIVE, "depth": 0}.get(column, NONE)
        columns[column] = np.concatenate((own, np.asarray(added.get(column, [fill] * count), dtype)))
    return Events.from_columns(columns, list(names), lanes, list(known))


def _operations(events: Events, programs: list[Program], notes: Notes) -> list[_Operation]:
    """The operations of transfers whose rendezvous is known, in the order of their begin."""
    of_args = [_category(text) for text in events.args_values]
    candidates = np.flatnonzero(np.array([*of_args, False], bool)[events.args] & (events.device != NONE))
    if len(candidates) == 0:
        return []
    candidates = candidates[np.argsort(events.ts_ns[candidates], kind="stable")]
    runs = _module_runs(events)
    known = _Known(programs)
    found = []
    for row in candidates.tolist():
        args, device = events.args_of(row), int(events.device[row])
        number = args.get("program_id")
        if not isinstance(number, int):
            number = _running(runs.get(device, []), int(events.ts_ns[row]))
        told = known.find(number, _NAME.match(events.text(row)))
        if told is not None:
            instruction, rendezvous, transfer = told
            size = args.get(COLLECTIVE_INFO)
            found.append(
                _Operation(row, instruction.opcode, device, rendezvous, transfer, size, instruction.shape.bytes)
            )
    notes.add(
        "missing_field",
        "Transfers between slices whose program is not in the file, or does not name their rendezvous, are in no "
        "collective.",
        len(candidates) - len(found),
    )
    return found


def _category(text: str) -> bool:
    return '"hlo_category"' in text and json.loads(text).get("hlo_category") in _CATEGORIES


def _pairs(operations: list[_Operation], events: Events) -> Iterator[tuple[_Operation, _Operation]]:
    """Each ``send`` with the ``recv-done`` that ends its collective; a later ``send`` takes an unended one's place."""
    open_: dict[tuple[int, str], _Operation] = {}
    for each in operations:
        place = (each.device, each.rendezvous)
        if each.opcode == "send":
            open_[place] = each
        elif each.opcode == "recv-done" and place in open_:
            yield open_.pop(place), each


def _told(send: _Operation, done: _Operation) -> dict[str, Any]:
    """What a collective's record tells, as PyTorch's records of NCCL do."""
    name, message = _KINDS.get(send.transfer, (send.transfer.lower() or "transfer", lambda received, n: None))
    size = message(done.bytes, send.group_size)
    return {
        "megascale": "collective",
        "rendezvous": send.rendezvous,
        "Collective name": name,
        "Process Group Name": send.rendezvous,
        "Group size": send.group_size,
        "In msg nelems": size,
        "Out msg nelems": size,
        "dtype": "Byte",
    }


def _lane(of: Lane, done: _Operation) -> Lane:
    return Lane(
        type="stream",
        name=f"MegaScale {done.rendezvous}",
        pid=of.pid,
        tid=f"MegaScale {done.rendezvous}",
        process=of.process,
        device=done.device,
        sort=of.sort,
    )


def _module_runs(events: Events) -> dict[int, list[tuple[int, int, int]]]:
    """Of each device when programs ran on it: begin, end, the program's number."""
    lanes = [i for i, lane in enumerate(events.lanes) if lane.name == _MODULES]
    found: dict[int, list[tuple[int, int, int]]] = {}
    for row in np.flatnonzero(np.isin(events.lane, lanes)).tolist():
        number = id_in_name(events.text(row))
        if number is not None:
            span = (int(events.ts_ns[row]), int(events.ends_ns(row)), number)
            found.setdefault(int(events.device[row]), []).append(span)
    return {device: sorted(spans) for device, spans in found.items()}


def _running(spans: list[tuple[int, int, int]], at_ns: int) -> int | None:
    at = bisect_right(spans, (at_ns, 2**63, 0)) - 1
    return spans[at][2] if at >= 0 and at_ns < spans[at][1] else None


class _Known:
    """The rendezvous of the transfers of each program; a program is read when it is first asked for."""

    def __init__(self, programs: list[Program]) -> None:
        self._programs = {program.id: program for program in programs}
        self._read: dict[int, tuple[Module, dict[int, tuple[str, str]]]] = {}

    def find(self, number: int | None, name: re.Match[str] | None) -> tuple[Instruction, str, str] | None:
        """A transfer's instruction, the name of its rendezvous, and the kind of the transfer."""
        if number not in self._programs or name is None or number is None:
            return None
        if number not in self._read:
            module = read_module(self._programs[number].proto)
            self._read[number] = module, dict(_by_channel(module))
        module, by_channel = self._read[number]
        _, instruction = module.by_name.get(name[1], (None, None))
        if instruction is None:
            return None
        told = by_channel.get(instruction.attributes.get("channel", 0))
        own = _rendezvous(instruction) or told
        return None if own is None else (instruction, *own)


def _by_channel(module: Module) -> Iterator[tuple[int, tuple[str, str]]]:
    for _, instruction in module.instructions():
        if (told := _rendezvous(instruction)) and (channel := instruction.attributes.get("channel")):
            yield channel, told


def _rendezvous(instruction: Instruction) -> tuple[str, str] | None:
    frontend = instruction.attributes.get("frontend", {})
    return (frontend[_RENDEZVOUS], frontend.get(_TRANSFER, "")) if _RENDEZVOUS in frontend else None
