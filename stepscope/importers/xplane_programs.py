"""The programs in an XSpace: a metadata plane carries what XLA compiled, one HloProto for each program."""

from __future__ import annotations

import re

from stepscope.hlo.module import read_module
from stepscope.importers.xplane_wire import Space
from stepscope.protobuf_wire import signed
from stepscope.schema import Events, Notes, Program

_PLANE = "/host:metadata"
#: A stat's name has changed its letters between versions.
_STAT = re.compile(r"hlo[ _]proto", re.IGNORECASE)
#: The name of a program ends in the number that events tell, "jit_step(15)". The key of its metadata is the same
#: number in TensorFlow's files and another in those of JAX on a CPU (TensorFlow 2.21, JAX 0.10).
_NAMED = re.compile(r"(?P<name>.*)\((?P<id>\d{1,20})\)", re.DOTALL)
_RAN = re.compile(r'"program_id":(-?\d{1,20})')
#: Bytes of one program and of all that are kept of one file: what is above takes minutes to look at.
MAX_PROGRAM_BYTES = 64 << 20
MAX_BYTES = 256 << 20
#: Bytes of programs that are looked through for damage, 0.2 s a MB: that of others is told where one opens them.
CHECKED_BYTES = 4 << 20


def programs_of(space: Space, events: Events, notes: Notes) -> list[Program]:
    """The programs, those that ran in the file first; what is too large is left out and counted."""
    found = [
        _program(plane.event_names.get(number, ""), number, stat.value)
        for plane in space.planes
        if plane.name == _PLANE
        for number, stats in plane.event_stats.items()
        for stat in stats
        if isinstance(stat.value, bytes) and stat.kind == 6 and _STAT.match(plane.stat_names.get(stat.metadata_id, ""))
    ]
    ran = {_as_int64(int(number)) for text in events.args_values for number in _RAN.findall(text)}
    found.sort(key=lambda program: (program.id not in ran, len(program.proto)))
    kept, size = [], 0
    for program in found:
        if len(program.proto) <= MAX_PROGRAM_BYTES and size + len(program.proto) <= MAX_BYTES:
            kept.append(program)
            size += len(program.proto)
    notes.add(
        "programs_left_out",
        f"Programs that XLA compiled are kept up to {MAX_PROGRAM_BYTES >> 20} MiB each and {MAX_BYTES >> 20} MiB "
        "together, those that ran first; the tables of HLO operations tell less of the others.",
        len(found) - len(kept),
    )
    notes.add(
        "damaged_program",
        "Programs that XLA compiled are damaged or cut: what the XLA tab and the tables of HLO operations tell of them "
        "lacks what could not be read.",
        _damaged(kept),
    )
    return kept


def _damaged(programs: list[Program]) -> int:
    """How many of the first programs cannot be read in full."""
    count, left = 0, CHECKED_BYTES
    for program in programs:
        left -= len(program.proto)
        if left < 0:
            break
        count += read_module(program.proto).fault
    return count


def _program(name: str, key: int, proto: bytes) -> Program:
    told = _NAMED.fullmatch(name)
    return Program(told["name"], _as_int64(int(told["id"])), proto) if told else Program(name, key, proto)


def id_in_name(name: str) -> int | None:
    """The number of a program that the name of its run ends in."""
    told = _NAMED.fullmatch(name)
    return _as_int64(int(told["id"])) if told else None


def _as_int64(number: int) -> int:
    return signed(number % 2**64)
