"""Turns one damaged JSON object into valid JSON, keeping every member that can still be told apart.

Profilers write trace files by hand, without escaping: Windows paths, source text in kernel names, bare
NaN. Strict parsers refuse the whole file for one such byte.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

_SPACE = re.compile(rb"[\s\x00]*")
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?=[\s,\]}]|$)")
_WORD = re.compile(rb"[^\s,:\"\[\]{}]+")
_NUMBERLIKE = re.compile(rb"[+-]?[0-9][0-9.eE+-]*$|[+-]?\.[0-9]+$")

# Where a string may end. An escaped quote ends one only where a member follows ("dir": "C:\", "pid": 1).
_MEMBER = rb"\s*,\s*\"[^\"\\]{0,80}\"\s*:"
_KEY_END = re.compile(rb'"(?=\s*:)')
_VALUE_END = re.compile(rb'"(?=' + _MEMBER + rb")|(?<!\\)\"(?=\s*(?:,\s*)?(?:[}\]]|$))")
_ITEM_END = re.compile(rb'(?<!\\)"(?=\s*(?:[,\]]|$))')
# Runs of plain characters first: a repeated alternative would take memory for every character.
_STRICT_STRING = re.compile(rb'"[^"\\\x00-\x1f]*(?:(?:\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"')

_ANY_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
#: Numbers that JSON does not know, as the value of a member.
_BARE_NUMBER = re.compile(rb'(?<!\\":)(?<=":)(\s*)-?(?:NaN|nan|Infinity|inf)(?=\s*[,}])')

_BAD_ESCAPE = re.compile(rb'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_LONE_BACKSLASH = re.compile(rb'(\\["\\])|\\')
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_CONTROL = re.compile(rb"[\x00-\x1f]")


@dataclass(frozen=True)
class Repaired:
    """``text`` is valid JSON of the object, which ended at ``end`` of the text given.

    ``complete`` is False where the text ended before the object did; ``repairs`` counts what was put
    right, 0 for an object that was valid all along.
    """

    text: bytes
    end: int
    complete: bool
    repairs: int


def repair_object(text: bytes) -> Repaired:
    """Read the object (or list) that ``text`` begins with.

    Strings get their control characters, stray backslashes, unescaped quotes and invalid UTF-8 put
    right; NaN, Infinity and words that are no JSON become null; odd numbers (``1.``, ``+5``) become
    strings; missing or doubled commas and wrong closing brackets are put right by the nesting.
    """
    out: list[bytes] = []
    nest: list[bytes] = []  # closing bracket of each open level
    fresh = True  # no value yet at this level: no comma before the next
    at_key = False
    repairs = 0
    at = 0

    while True:
        at = _end(_SPACE, text, at)
        if at >= len(text):
            return Repaired(_closed(out, nest, at_key), at, False, repairs + 1)
        char = text[at : at + 1]
        if char in b"}]":
            if char not in nest:
                return Repaired(_closed(out, nest, at_key), at, False, repairs + 1)
            while nest:
                if not at_key and nest[-1] == b"}":
                    out.append(b"null")  # a key without a value
                    repairs += 1
                closing = nest.pop()
                out.append(closing)
                # A level that closes was a value of the level around it.
                at_key = bool(nest) and nest[-1] == b"}"
                if closing == char:
                    break
                repairs += 1
            fresh = False
            at += 1
            if not nest:
                return Repaired(b"".join(out), at, True, repairs)
            continue
        if char == b",":
            at += 1
            continue
        in_object = bool(nest) and nest[-1] == b"}"
        if in_object and at_key:
            key, after, fixed = _key(text, at)
            if key is None:
                at = after
                repairs += 1
                continue
            out.append((b"" if fresh else b",") + key + b":")
            repairs += fixed
            at = after
            at_key = False
            continue
        if char == b":":
            at += 1
            repairs += 1
            continue
        if nest and not in_object and not fresh:
            out.append(b",")
        if char in b"{[":
            out.append(char)
            nest.append(b"}" if char == b"{" else b"]")
            fresh = True
            at_key = char == b"{"
            at += 1
            continue
        value, at, fixed = _scalar(text, at, in_object)
        out.append(value)
        repairs += fixed
        fresh = False
        at_key = in_object


def repair_scalars(text: bytes) -> tuple[bytes, int]:
    """Put strings and bare numbers (NaN, Infinity) right in a text whose quotes and brackets are sound.

    Returns:
        The text, which the caller must still parse strictly, and the number of repairs.
    """
    repairs = 0

    def string(match: re.Match[bytes]) -> bytes:
        nonlocal repairs
        raw = match.group()
        if _STRICT_STRING.fullmatch(raw):
            return raw
        repairs += 1
        return _requoted(raw[1:-1])

    text = _ANY_STRING.sub(string, text)
    text, numbers = _BARE_NUMBER.subn(rb"\1null", text)
    return text, repairs + numbers


def decode_text(raw: bytes) -> tuple[str, bool]:
    """The string that a JSON scalar stands for (numbers as written), and whether it had to be repaired.

    The result never holds a lone surrogate, so it can be encoded as UTF-8.
    """
    if not raw.startswith(b'"'):
        return ("" if raw == b"null" else raw.decode("utf-8", "replace")), False
    try:
        text = json.loads(raw)
        text.encode()
        return text, False
    except ValueError:
        text = json.loads(_requoted(raw[1:-1]))
        return text.encode("utf-8", "replace").decode(), True


def _end(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _closed(out: list[bytes], nest: list[bytes], at_key: bool) -> bytes:
    tail = b"" if at_key or not nest or nest[-1] == b"]" else b"null"
    return b"".join(out) + tail + b"".join(reversed(nest))


def _key(text: bytes, at: int) -> tuple[bytes | None, int, int]:
    """A member's name and where its value begins; None where there is no name followed by a colon."""
    if text[at : at + 1] != b'"':
        return None, max(_end(_WORD, text, at), at + 1), 1
    strict = _STRICT_STRING.match(text, at)
    if strict:
        colon = _end(_SPACE, text, strict.end())
        if text[colon : colon + 1] == b":":
            return _encodable(strict.group()), colon + 1, 0
    match = _KEY_END.search(text, at + 1)
    comma = text.find(b",", at)
    if not match or -1 < comma < match.start():
        return None, at + 1, 1
    colon = text.index(b":", match.end())
    return _requoted(text[at + 1 : match.start()]), colon + 1, 1


def _scalar(text: bytes, at: int, in_object: bool) -> tuple[bytes, int, int]:
    if text[at : at + 1] == b'"':
        match = (_VALUE_END if in_object else _ITEM_END).search(text, at + 1)
        end = match.start() if match else len(text)
        raw = text[at : end + 1] if match else text[at:end] + b'"'
        if match and _STRICT_STRING.fullmatch(raw):
            clean = _encodable(raw)
            return clean, end + 1, int(clean is not raw)
        return _requoted(raw[1:-1]), end + 1, 1
    number = _NUMBER.match(text, at)
    if number:
        return number.group(), number.end(), 0
    word = _WORD.match(text, at)
    if not word:
        return b"null", at + 1, 1
    if word.group() in (b"true", b"false", b"null"):
        return word.group(), word.end(), 0
    if _NUMBERLIKE.match(word.group()):
        return b'"' + word.group() + b'"', word.end(), 1
    return b"null", word.end(), 1


def _encodable(raw: bytes) -> bytes:
    """The same valid JSON string, or a copy with replacements for invalid UTF-8 and lone surrogates."""
    try:
        text = raw.decode()
        if _SURROGATE.search(raw):
            json.loads(raw).encode()
        return raw
    except UnicodeDecodeError:
        return _encodable(raw.decode("utf-8", "replace").encode())
    except UnicodeEncodeError:
        return json.dumps(json.loads(text).encode("utf-8", "replace").decode()).encode()


def _requoted(content: bytes) -> bytes:
    """A JSON string of what stood between two quotes, valid whatever it was."""
    if _BAD_ESCAPE.search(content):
        # One invalid escape tells that the writer does not escape: every backslash is meant as one.
        content = _LONE_BACKSLASH.sub(lambda m: m.group(1) or rb"\\", content)
    content = re.sub(rb'(\\.)|"', lambda m: m.group(1) or rb"\"", content, flags=re.DOTALL)
    content = _CONTROL.sub(lambda m: b"\\u%04x" % m.group()[0], content)
    return b'"' + content.decode("utf-8", "replace").encode() + b'"'
