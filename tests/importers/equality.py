"""What both readers of Kineto traces, the C++ scanner and Python alone, make of one file, as plain data."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from stepscope.errors import StepscopeError
from stepscope.importers import bytes_source, import_file
from stepscope.importers.kineto_native import SWITCH_VARIABLE
from stepscope.schema import COLUMN_DTYPES
from tests.builders import TraceBuilder

#: What the mutations write: structure, escapes, numbers and members that the readers treat in ways of their own.
PIECES = (
    b'{', b'}', b'[', b']', b'"', b',', b':', b'\\', b'\n', b'\0', b' ', b'\t', b'0', b'-', b'.', b'e5', b'9' * 17,
    b'"\\u0041"', b'\\ud83d\\ude00', b'\\ud800', b'\xff', b'\xc3\xa9', b'{}', b'[]', b'null', b'true', b'NaN', b'1e3',
    b'-0.0005', b'12.3456789', b'"0x1f"', b'"7"', b'18446744073709551615', b'99999999999999999999', b'1.5',
    b'"correlation": ', b'"External id": 7, ', b'"external id": "8", ', b'"stream": 4294967295, ', b'"bytes": 1.5, ',
    b'"device": 5000000000, ', b'"Ev Idx": 3, ', b'"Ev Idx": [3], ', b'"Ev Idx": "a\\"b", ', b'"a\\"Ev Idx": 3, ',
    b'"n": {"Ev Idx": 4, "stream": 1}, ', b'"n": "x, {", ', b'"n": [{}], ', b'"n": {}, ', b'"Device Id": 1, ',
    b'"Bytes": 64, ', b'"Device Type": 0, ', b'"Collective name": "allreduce", ', b'"x": "\\"Collective name", ',
    b'"args": null, ', b'"args": [1, {"stream": 2}], ', b'"args": "text", ', b'"args": {"stream": 3}, ',
    b'"ph": "X", ', b'"ph": "i", "name": "[memory]", ', b'"ph": "C", ', b'"ph": "B", ', b'"ph": "", ', b'"ph": 5, ',
    b'"\\u0070h": "X", ', b'"cat": "kernel", ', b'"cat": "Trace", ', b'"pid": "CUDA functions", ', b'"name": "", ',
    b'"ts": "5", ', b'"ts": null, ', b'"dur": 1e1, ', b'{"ph": "X", "name": "new", "ts": 1, "dur": 2}, ', b'{}, ',
)  # fmt: skip


@contextmanager
def reader(pure: bool, block_bytes: int | None = None) -> Iterator[None]:
    """Import by Python alone, or by the scanner; with blocks of another size."""
    before, size = os.environ.get(SWITCH_VARIABLE), bytes_source.BLOCK_BYTES
    os.environ[SWITCH_VARIABLE] = "1" if pure else "0"
    bytes_source.BLOCK_BYTES = block_bytes or size
    try:
        yield
    finally:
        bytes_source.BLOCK_BYTES = size
        if before is None:
            del os.environ[SWITCH_VARIABLE]
        else:
            os.environ[SWITCH_VARIABLE] = before


def outcome(path: Path, pure: bool, block_bytes: int | None = None) -> dict[str, Any] | str:
    """Everything that an import says, names and args as texts; of a refused file, the sentence."""
    with reader(pure, block_bytes):
        try:
            window = import_file(path)
        except StepscopeError as error:
            return str(error)
    events = window.events
    told: dict[str, Any] = {
        column: getattr(events, column) for column in COLUMN_DTYPES if column not in ("name", "args")
    }
    told["name"] = np.array([*events.names, ""], object)[events.name]
    told["args"] = np.array([*events.args_values, ""], object)[events.args]
    return {**{column: values.tolist() for column, values in told.items()}, "meta": json.dumps(window.meta())}


def differences(path: Path, block_bytes: int | None = None) -> list[str]:
    """Where the two readers disagree about a file."""
    python, scanner = outcome(path, True, block_bytes), outcome(path, False, block_bytes)
    if isinstance(python, str) or isinstance(scanner, str):
        return [] if python == scanner else [f"one refuses: {str(python)[:200]!r}, {str(scanner)[:200]!r}"]
    return [
        f"{name}: {python[name]!r:.400} by Python, {scanner[name]!r:.400} by the scanner"
        for name in python
        if python[name] != scanner[name]
    ]


def rich_trace(seed: int) -> TraceBuilder:
    """A small trace in which every way that args and numbers are read occurs."""
    dice = random.Random(seed)
    trace = TraceBuilder(rank=1)
    for i in range(dice.randrange(3, 9)):
        at = 10 * i
        trace.op(
            f"aten::op{i}",
            at,
            5,
            external_id=i,
            **{"Input Dims": [[i, 2], []], "Call stack": 'a "q" \\ {', "Ev Idx": i},
        )
        trace.launch(at + 1, "2.25", correlation=100 + i)
        trace.kernel(f"void k{i}<int, {{lambda()#1}}>", at + 3, "6.125", correlation=100 + i, grid=[i % 3, 1, 1])
        if dice.random() < 0.5:
            trace.kernel(
                "ncclKernel", at + 4, 1, correlation=i, **{"Collective name": "allreduce", "Group": {"Ranks": "[0, 1]"}}
            )
        if dice.random() < 0.5:
            trace.memory(at + 5, 1024, total=4096).memcpy("HtoD", at + 6, 1, bytes=64, stream=9)
        if dice.random() < 0.5:
            trace.event({"ph": "C", "name": "queue", "pid": 1, "tid": 1}, at, None, {"value": i, "Ev Idx": 3})
        if dice.random() < 0.5:
            trace.event(
                {"ph": dice.choice("BEsfbM"), "name": "other \u00e9", "pid": "1", "tid": "stream 7"},
                at,
                None,
                {"x": "\u00e9"},
            )
    return trace


def mutated(seed: int) -> bytes:
    """The bytes of such a trace, most of them changed in up to five places; the same for the same seed."""
    dice = random.Random(seed)
    data = bytearray(rich_trace(seed).json())
    start = data.index(b'"traceEvents"') if dice.random() < 0.9 else 0
    for _ in range(dice.choice((0, 1, 1, 1, 2, 3, 5))):
        mutate(data, start, dice)
    return bytes(data)


def mutate(data: bytearray, start: int, dice: random.Random) -> None:
    """Change a text of at least one byte in one place behind ``start``."""
    at = dice.randrange(start, len(data))
    if dice.random() < 0.6:  # where a member may begin or a value stands, most pieces leave valid JSON
        at = max(data.find(dice.choice((b'"', b": ", b'{"')), at), 0)
        at += 2 if data[at : at + 2] == b": " else data[at : at + 1] == b"{"
    removed = dice.choice((0, 0, 0, 1, 1, 2, 8, 40))
    data[at : at + removed] = (
        dice.choice(PIECES) if dice.random() < 0.9 else bytes(dice.randrange(256) for _ in range(2))
    )
