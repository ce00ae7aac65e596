"""What one record of a collective tells of its message: the collective, its process group, its size."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stepscope.schema import NONE, Events

#: Bytes of one element by the names that PyTorch writes: ScalarType (dtype) and C++ (Input type).
_ELEMENT_BYTES = {
    **dict.fromkeys(("byte", "char", "bool", "unsigned char", "signed char", "quint8", "qint8"), 1),
    **dict.fromkeys(("short", "half", "bfloat16", "uint16", "short int", "unsigned short"), 2),
    **dict.fromkeys(("int", "float", "uint32", "qint32", "complexhalf", "unsigned int"), 4),
    **dict.fromkeys(("long", "double", "uint64", "complexfloat", "long int", "unsigned long", "complex<float>"), 8),
    **dict.fromkeys(("complexdouble", "complex<double>"), 16),
}
#: Spelling without underscores and case -> name. Longer spellings first, as they hold shorter ones.
_NAMES = (
    ("reducescatter", "reduce_scatter"), ("allreduce", "all_reduce"), ("allgather", "all_gather"),
    ("alltoall", "all_to_all"), ("sendrecv", "send_recv"), ("broadcast", "broadcast"), ("barrier", "barrier"),
    ("scatter", "scatter"), ("gather", "gather"), ("reduce", "reduce"), ("send", "send"), ("recv", "recv"),
)  # fmt: skip
#: Share of the message that crosses the bus, by group size n (nccl-tests, doc/PERFORMANCE.md).
_CROSSING = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    **dict.fromkeys(("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"), lambda n: (n - 1) / n),
}
#: One peer to another, or one to all in a row: all of it, whatever the group's size.
_ALL_CROSSES = ("broadcast", "reduce", "send", "recv", "send_recv")
#: The library's own name of a collective: "nccl:all_to_all", "gloo:all_reduce", "nccl:send 0->1".
OF_LIBRARY = re.compile(r"(?:nccl|gloo|ucc|mpi):(\w+)")


@dataclass(frozen=True)
class Message:
    """What is told of a collective. ``group_size`` and ``bytes`` are NaN where they are not told."""

    name: str
    group: str | None = None
    group_description: str | None = None
    group_size: float = math.nan
    bytes: float = math.nan

    @property
    def crossing(self) -> float:
        """The share of the message that crosses the bus."""
        if self.name in _CROSSING:
            return _CROSSING[self.name](self.group_size)
        return 1.0 if self.name in _ALL_CROSSES else math.nan


def group_sizes(headers: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Ranks of the process groups that headers of traces list, by name."""
    sizes: dict[str, int] = {}
    for header in headers:
        told = header.get("distributedInfo")
        groups = told.get("pg_config") if isinstance(told, dict) else None
        for group in groups if isinstance(groups, list) else ():
            if isinstance(group, dict) and isinstance(group.get("pg_size"), int):
                sizes[str(group.get("pg_name"))] = group["pg_size"]
    return sizes


def read_message(events: Events, row: int, maker: int, group_sizes: Mapping[str, int]) -> Message:
    """What is told of the run in ``row``.

    Args:
        maker: the row of the library's operator or annotation around its launch, ``NONE`` without one.
        group_sizes: ranks of process groups by name, for records that tell the group alone.
    """
    own = events.args_of(row)
    args = own if "Collective name" in own or maker == NONE else events.args_of(maker)
    if isinstance(spelled := args.get("Collective name"), str):
        return _of_metadata(spelled, args, group_sizes)
    of_library = None if maker == NONE else OF_LIBRARY.match(events.text(maker))
    if of_library is None:
        return Message(_name(events.text(row)))
    name = _name(of_library[1])
    dims, types = args.get("Input Dims"), args.get("Input type")
    if name == "all_gather" or not isinstance(dims, list) or not isinstance(types, list):
        return Message(name)  # an input is not what the ranks of an all_gather get
    return Message(name, bytes=_input_bytes(dims, types))


def _of_metadata(spelled: str, args: dict, group_sizes: Mapping[str, int]) -> Message:
    name = _name(spelled)
    elements = _count(args.get("Out msg nelems" if name == "all_gather" else "In msg nelems"))
    group, about = args.get("Process Group Name"), args.get("Process Group Description")
    group = str(group) if group not in (None, "") else None
    size = _count(args.get("Group size"))
    if math.isnan(size) and group is not None:
        size = float(group_sizes.get(group, math.nan))
    return Message(
        name,
        group,
        about if isinstance(about, str) and about not in ("", "undefined") else None,
        size if size > 0 else math.nan,
        elements * _element_bytes(args.get("dtype")),
    )


def _name(text: str) -> str:
    plain = re.sub(r"[^a-z]", "", text.lower())
    return next((name for spelling, name in _NAMES if spelling in plain), text)


def _input_bytes(dims: list, types: list) -> float:
    """Bytes of the tensors among an operator's inputs; NaN where there is none or one is not told."""
    tensors = [(d, t) for d, t in zip(dims, types, strict=False) if isinstance(d, list) and d and t != ""]
    total = math.nan
    for shape, kind in tensors:
        if not all(isinstance(n, int) and 0 <= n < 1 << 40 for n in shape):
            return math.nan
        size = float(math.prod(shape)) * _element_bytes(kind)
        total = size if math.isnan(total) else total + size
    return total


def _element_bytes(text: object) -> float:
    plain = str(text).lower().removeprefix("c10::")
    if plain.startswith("float8_"):
        return 1.0
    return float(_ELEMENT_BYTES.get(plain, math.nan))


def _count(value: object) -> float:
    """A whole number of a trace's args; damage may have made it anything."""
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53
    return float(value) if whole else math.nan  # type: ignore[arg-type]
