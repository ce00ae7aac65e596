"""What a Kineto header and the file's own name say about a trace: devices, rank, host."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from stepscope.importers.trace_names import host_and_pid, rank_in_name
from stepscope.schema import Device, Notes

_TORCH_MEMBERS = ("deviceProperties", "distributedInfo", "baseTimeNanoseconds", "trace_id", "cupti_version")


@dataclass
class Origin:
    """Where a trace comes from; None where nothing says so."""

    rank: int | None = None
    rank_from: str | None = None
    world_size: int | None = None
    host: str | None = None
    pid: int | None = None
    devices: list[Device] = field(default_factory=list)
    base_ns: int = 0
    framework: str | None = None
    is_torch: bool = False


def read_origin(header: dict[str, Any], file_name: str, notes: Notes) -> Origin:
    """Combine the header (``distributedInfo`` and others) and the file name."""
    origin = Origin(devices=_devices(header.get("deviceProperties")))
    info = _as_dict(header.get("distributedInfo"))
    origin.world_size = _as_positive(info.get("world_size"))
    add_rank(origin, _as_int(info.get("rank")), file_name, notes)
    origin.host, origin.pid = host_and_pid(file_name)
    if isinstance(header.get("host_name"), str) and header["host_name"]:
        origin.host = header["host_name"]
    exported = _as_dict(header.get("stepscope"))
    if isinstance(exported.get("framework"), str):
        origin.framework = exported["framework"]
    if (pid := _as_positive(exported.get("pid"))) is not None:
        origin.pid = pid
    origin.base_ns = _as_int(header.get("baseTimeNanoseconds")) or 0
    origin.is_torch = any(member in header for member in _TORCH_MEMBERS)
    return origin


def add_rank(origin: Origin, rank: int | None, file_name: str, notes: Notes) -> None:
    """Fill in the rank: ``rank`` of the metadata wins over the file name, a disagreement is noted."""
    named = rank_in_name(file_name)
    if rank is not None and rank >= 0:
        origin.rank, origin.rank_from = rank, "metadata"
        if named and named.rank != rank:
            notes.add(
                "rank_conflict",
                f"The file name says rank {named.rank}, its metadata rank {rank}; the metadata were taken.",
            )
    elif named:
        origin.rank, origin.rank_from = named.rank, "name"
    else:
        notes.add("rank_unknown", "Neither the metadata nor the name of the file give a rank.")
    if origin.world_size is None and named and named.rank == origin.rank:
        origin.world_size = named.world_size


def _devices(properties: Any) -> list[Device]:
    devices = []
    for i, found in enumerate(properties if isinstance(properties, list) else []):
        if not isinstance(found, dict):
            continue
        rest = dict(found)
        number = _as_int(rest.pop("id", None))
        name = rest.pop("name", None)
        devices.append(
            Device(
                id=i if number is None else number,
                name=name if isinstance(name, str) and name else None,
                sm_count=_as_positive(rest.pop("numSms", None)),
                memory_bytes=_as_positive(rest.pop("totalGlobalMem", None)),
                properties=rest,
            )
        )
    return devices


def _as_dict(value: Any) -> dict[str, Any]:
    if isinstance(value, str):  # some writers put the JSON text in a string
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def _as_int(value: Any) -> int | None:
    """A whole number of at most 64 bits, however it is written."""
    if isinstance(value, bool):
        return None
    is_whole = isinstance(value, float) and value.is_integer()
    if is_whole or (isinstance(value, str) and re.fullmatch(r"-?\d{1,19}", value)):
        value = int(value)
    return value if isinstance(value, int) and abs(value) < 2**63 else None


def _as_positive(value: Any) -> int | None:
    number = _as_int(value)
    return number if number is not None and number > 0 else None
