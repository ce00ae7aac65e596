"""What a Kineto header and the file's own name say about a trace: devices, rank, host."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from stepscope.schema import Device, Notes

#: ``rank3``, ``rank_3``, ``rank.0``, ``rank0of8``: not part of a longer word, and no time stamp behind it.
_RANK_IN_NAME = re.compile(r"(?<![A-Za-z])rank[._-]?(\d{1,6})(?:of(\d{1,6}))?(?![0-9A-Za-z])", re.IGNORECASE)
#: The name torch's own handler gives: ``<host>_<pid>.<time>.pt.trace.json``.
_HANDLER_NAME = re.compile(r"(?P<host>.+)_(?P<pid>\d{1,10})\.\d{10,}\.pt\.trace\.json(?:\.gz)?$")
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
    is_torch: bool = False


def read_origin(header: dict[str, Any], file_name: str, notes: Notes) -> Origin:
    """Combine header and file name; for the rank the header wins, and a disagreement is noted."""
    origin = Origin(devices=_devices(header.get("deviceProperties")))
    info = _as_dict(header.get("distributedInfo"))
    named = _RANK_IN_NAME.search(file_name)
    name_rank = int(named[1]) if named else None
    origin.rank = _as_int(info.get("rank"))
    origin.world_size = _as_int(info.get("world_size"))
    if origin.rank is not None:
        origin.rank_from = "metadata"
        if name_rank is not None and name_rank != origin.rank:
            notes.add(
                "rank_conflict",
                f"The file name says rank {name_rank}, its metadata rank {origin.rank}; the metadata were taken.",
            )
    elif named:
        origin.rank, origin.rank_from = name_rank, "name"
    else:
        notes.add("rank_unknown", "Neither the metadata (distributedInfo) nor the file name give a rank.")
    if origin.world_size is None and named and named[2] and origin.rank == name_rank:
        origin.world_size = int(named[2])

    handler = _HANDLER_NAME.match(file_name)
    if handler:
        origin.host, origin.pid = handler["host"], int(handler["pid"])
    if isinstance(header.get("host_name"), str) and header["host_name"]:
        origin.host = header["host_name"]
    origin.base_ns = _as_int(header.get("baseTimeNanoseconds")) or 0
    origin.is_torch = any(member in header for member in _TORCH_MEMBERS)
    return origin


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
                sm_count=_as_int(rest.pop("numSms", None)),
                memory_bytes=_as_int(rest.pop("totalGlobalMem", None)),
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
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,19}", value):
        return int(value)
    return None
