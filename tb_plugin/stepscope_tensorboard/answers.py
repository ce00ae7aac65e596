"""What a route answers, whatever server sends it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from stepscope.schema import NONE

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"


@dataclass(frozen=True)
class Answer:
    """``etag`` names this state of the content, so that an unchanged one is not sent again (status 304)."""

    status: int
    content_type: str
    body: bytes
    etag: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


class Problem(Exception):
    """A request that cannot be met: a status and one sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Pending(Exception):
    """The answer is being made; ask again. ``can_cancel``: ``control/import`` ends this work."""

    state = "importing"

    def __init__(self, sentence: str, can_cancel: bool = False) -> None:
        super().__init__(sentence)
        self.can_cancel = can_cancel


class Cancelled(Pending):
    """The answer is not being made, since somebody cancelled that; it is once they wish it."""

    state = "cancelled"


def isolated(name: str) -> str:
    """A name in a sentence: letters and marks that are written from right to left turn nothing beside it round."""
    return f"\u2068{name}\u2069" if any(letter > "\u058f" for letter in name) else name


#: A longer text is cut in its middle in a list of rows; names of kernels may take 4 kB.
_TEXT = 1500


def cut_text(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[: _TEXT * 2 // 3]} … {text[-_TEXT // 3 :]}"


def json_answer(data: Any, status: int = 200, etag: str | None = None) -> Answer:
    return Answer(status, JSON, json_bytes(data), etag)


def json_bytes(data: Any) -> bytes:
    """Strict JSON; numpy values become plain ones, NaN and infinities null."""
    try:
        return msgspec.json.encode(data, enc_hook=_plain)
    except UnicodeEncodeError:  # a path that is no Unicode, in a message
        return msgspec.json.encode(_encodable(msgspec.to_builtins(data, enc_hook=_plain)))


def or_null(values: np.ndarray) -> list[int | None]:
    """Integers as JSON has them: null for ``NONE``, which is "not measured"."""
    return [None if value == NONE else value for value in values.tolist()]


def arrow_bytes(table: pa.Table) -> bytes:
    """An uncompressed IPC stream: browsers have no codec for Arrow's compression."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return str(value)


def _encodable(data: Any) -> Any:
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode()
    if isinstance(data, dict):
        return {_encodable(key): _encodable(value) for key, value in data.items()}
    return [_encodable(value) for value in data] if isinstance(data, list) else data
