"""Damage to whole trace files, from a seed: what happens to files on their way from a job to a reader.

Each kind of damage tells which events it leaves intact, so that a test can ask for every one of them.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.builders import BASE_NS, TraceBuilder

Key = tuple[str, int, int]  # name, start and duration in ns

#: Values of types that a field does not have.
ODD_VALUES: tuple[Any, ...] = (
    None, True, "", "text", "1e3", "NaN", "\ud800", -1, 0, 2**63, 2**70, -(2**63), 1.5, [], [1, [2]], {}, {"a": {}}
)  # fmt: skip
_ODD_TEXTS = (b"NaN", b"-Infinity", b"1e999", b"0x10", b"1_000", b"'x'", b"nul", b'"\\x"', b'"\x01"', b"{", b"]", b"")


@dataclass(frozen=True)
class Mutant:
    """A damaged file and the events in it that no damage touches; ``what`` says what was done.

    ``keeps_clock``: the text that tells what times are counted from is untouched.
    """

    data: bytes
    intact: list[Key]
    what: str
    keeps_clock: bool = True


def keys(builder: TraceBuilder) -> list[Key | None]:
    """How each event of a trace is read back; None for those that are no rows (metadata)."""
    return [_key(e) for e in builder.events]


def mutate(builder: TraceBuilder, seed: int) -> Mutant:
    """Damage a trace. ``builder`` writes one event a line."""
    generator = random.Random(seed)
    kind: Callable[[TraceBuilder, random.Random], Mutant] = generator.choice(KINDS)
    return kind(builder, generator)


def cut(builder: TraceBuilder, generator: random.Random) -> Mutant:
    """The file ends early."""
    text, spans = _text(builder)
    at = generator.randrange(len(text))
    return Mutant(text[:at], [k for k, (_, end) in spans if end <= at], f"cut at {at}")


def flip_bytes(builder: TraceBuilder, generator: random.Random) -> Mutant:
    """Some bytes are others."""
    text, spans = _text(builder)
    data = bytearray(text)
    places = sorted(generator.randrange(len(text)) for _ in range(generator.choice([1, 1, 2, 5])))
    for place in places:
        data[place] ^= generator.choice([1, 2, 4, 8, 16, 32, 64, 128, 255])
    return _damaged(bytes(data), spans, [(p, p + 1) for p in places], f"bytes {places} flipped")


def remove_bytes(builder: TraceBuilder, generator: random.Random) -> Mutant:
    """A stretch of the file is missing."""
    text, spans = _text(builder)
    start = generator.randrange(len(text))
    end = min(len(text), start + generator.choice([1, 3, 40, 700]))
    return _damaged(text[:start] + text[end:], spans, [(start, end)], f"bytes {start} to {end} removed")


def overwrite_bytes(builder: TraceBuilder, generator: random.Random) -> Mutant:
    """A stretch of the file holds something else: zeros, noise, or another part of the file."""
    text, spans = _text(builder)
    start = generator.randrange(len(text))
    end = min(len(text), start + generator.choice([1, 16, 512]))
    other = generator.randrange(len(text))
    noise = bytes(generator.randrange(256) for _ in range(end - start))
    new = generator.choice([bytes(end - start), noise, text[other : other + end - start]])
    return _damaged(text[:start] + new + text[end:], spans, [(start, end)], f"bytes {start} to {end} changed")


def remove_field(builder: TraceBuilder, generator: random.Random) -> Mutant:
    """An event, or its args, lacks a member."""

    def edit(event: dict[str, Any]) -> str:
        holder = generator.choice([e for e in (event, event.get("args")) if e])
        field = generator.choice(list(holder))
        del holder[field]
        return f"{field} removed"

    return _edited(builder, generator, edit)


def change_type(builder: TraceBuilder, generator: random.Random) -> Mutant:
    """A member has a value of another type."""

    def edit(event: dict[str, Any]) -> str:
        holder = generator.choice([e for e in (event, event.get("args")) if e])
        field = generator.choice(list(holder))
        holder[field] = value = generator.choice(ODD_VALUES)
        return f"{field} is {value!r}"

    return _edited(builder, generator, edit)


def odd_text(builder: TraceBuilder, generator: random.Random) -> Mutant:
    """A member's value is no JSON."""
    text, spans = _text(builder)
    key, (start, end) = generator.choice(spans)
    found = generator.choice(list(re.finditer(rb'(?<=": )(?:-?[\d.]+|"[^"]*")', text[start:end])))
    new = generator.choice(_ODD_TEXTS)
    data = text[: start + found.start()] + new + text[start + found.end() :]
    return Mutant(data, [k for k, span in spans if span != (start, end)], f"{new!r} in {key}")


def change_header(builder: TraceBuilder, generator: random.Random) -> Mutant:
    """A member of the document beside its events is missing or odd."""
    other = _copy(builder)
    field = generator.choice(list(other.header))
    if generator.random() < 0.3:
        del other.header[field]
        what = "removed"
    elif isinstance(other.header[field], (list, dict)) and generator.random() < 0.5:
        inner = other.header[field][0] if isinstance(other.header[field], list) else other.header[field]
        inner[generator.choice(list(inner))] = value = generator.choice(ODD_VALUES)
        what = f"holds {value!r}"
    else:
        other.header[field] = value = generator.choice(ODD_VALUES)
        what = f"is {value!r}"
    intact = [k for k in keys(builder) if k]
    return Mutant(_json(other), intact, f"header: {field} {what}", field != "baseTimeNanoseconds")


def shuffle_lines(builder: TraceBuilder, generator: random.Random) -> Mutant:
    """Events lie in another order, some of them twice."""
    other = _copy(builder)
    other.events += generator.sample(other.events, 3)
    generator.shuffle(other.events)
    return Mutant(_json(other), [k for k in keys(builder) if k], "events in another order")


def damage_bytes(data: bytes, seed: int) -> tuple[bytes, str]:
    """Cut a file of any format, change bits in it or take bytes out; and what was done."""
    generator = random.Random(seed)
    at = generator.randrange(len(data))
    how = generator.choice(["cut", "flip", "remove"])
    if how == "cut":
        return data[:at], f"cut at {at}"
    if how == "remove":
        size = generator.choice([1, 3, 20, 200])
        return data[:at] + data[at + size :], f"{size} bytes at {at} removed"
    bit = 1 << generator.randrange(8)
    return data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :], f"bit {bit} at {at} flipped"


KINDS: tuple[Callable[[TraceBuilder, random.Random], Mutant], ...] = (
    cut, flip_bytes, remove_bytes, overwrite_bytes, remove_field, change_type, odd_text, change_header, shuffle_lines,
)  # fmt: skip


def _edited(builder: TraceBuilder, generator: random.Random, edit: Callable[[dict[str, Any]], str]) -> Mutant:
    other = _copy(builder)
    which = generator.randrange(len(other.events))
    what = edit(other.events[which])
    intact = [k for i, k in enumerate(keys(builder)) if k and i != which]
    return Mutant(_json(other), intact, f"event {which}: {what}")


def _copy(builder: TraceBuilder) -> TraceBuilder:
    other = TraceBuilder(base_ns=builder.base_ns)
    other.header = json.loads(json.dumps(builder.header))
    other.events = [{**e, **({"args": dict(e["args"])} if "args" in e else {})} for e in builder.events]
    return other


def _json(builder: TraceBuilder) -> bytes:
    """As ``TraceBuilder.json``, without the names of lanes, which odd pids and tids cannot be asked for."""
    lines = []
    for event in builder.events:
        parts = (
            f"{json.dumps(k)}: {format(v, 'f') if isinstance(v, Decimal) else json.dumps(v)}" for k, v in event.items()
        )
        lines.append("{" + ", ".join(parts) + "}")
    header = "".join(f"  {json.dumps(k)}: {json.dumps(v)},\n" for k, v in builder.header.items())
    return ("{\n" + header + '  "traceEvents": [\n    ' + ",\n    ".join(lines) + "\n  ]\n}\n").encode()


def _text(builder: TraceBuilder) -> tuple[bytes, list[tuple[Key, tuple[int, int]]]]:
    """The file, and where each event lies in it."""
    text = _json(builder)
    at = text.index(b'"traceEvents"')
    spans = []
    for line, key in zip(re.finditer(rb"^    (\{.*\})(?:,|$)", text[at:], re.MULTILINE), keys(builder), strict=True):
        assert key is not None
        spans.append((key, (at + line.start(1), at + line.end(1))))
    return text, spans


def _damaged(data: bytes, spans: list[tuple[Key, tuple[int, int]]], at: list[tuple[int, int]], what: str) -> Mutant:
    intact = [k for k, (start, end) in spans if not any(a < end and b > start for a, b in at)]
    first = min(start for _, (start, _) in spans)
    return Mutant(data, intact, what, all(a >= first for a, _ in at))


def _key(event: dict[str, Any]) -> Key | None:
    if event.get("ph") not in ("X", "i"):
        return None
    return event["name"], BASE_NS + int(event["ts"] * 1000), int(event.get("dur", Decimal(0)) * 1000)
