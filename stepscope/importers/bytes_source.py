"""Reads a file in blocks, unpacking gzip on the way, and keeps what a cut or damaged file still holds."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from stepscope.errors import StepscopeError

inflate: Any = zlib
try:  # the same interface, three to five times as fast
    from isal import isal_zlib

    inflate = isal_zlib
except ImportError:
    pass

#: About what is parsed at once; what is behind it stays in the processor's cache.
BLOCK_BYTES = 4 << 20
GZIP_MAGIC = b"\x1f\x8b"
#: Packed bytes given to the decoder at once: bounds a block even at gzip's largest ratio of about 1000.
_PACKED_BYTES = 64 << 10
#: wbits that make zlib expect a gzip header.
_GZIP = 31


class ByteSource:
    """The plain bytes of one file; gzip is told by its magic bytes, never by the name.

    ``damage`` becomes a phrase such as "its gzip data end early" once reading has met a fault; what
    could be unpacked before the fault has been delivered by then.

    Raises:
        StepscopeError: the path is missing, a folder, unreadable or of zero bytes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage: str | None = None
        try:
            with path.open("rb") as file:
                head = file.read(len(GZIP_MAGIC))
        except FileNotFoundError:
            raise StepscopeError(f"{path} does not exist; check the path.") from None
        except IsADirectoryError:
            raise StepscopeError(f"{path} is a folder, not a trace file; name a file in it.") from None
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            raise StepscopeError(f"{path} cannot be opened ({_reason(error)}); check its permissions.") from None
        if not head:
            raise StepscopeError(f"{path} has zero bytes: its writer did not finish; record or copy it again.")
        self.is_gzip = head == GZIP_MAGIC

    def head(self, size: int) -> bytes:
        """The first plain bytes, for telling what the file is; at most ``size``."""
        return next(ByteSource(self.path).pieces(), b"")[:size]

    def blocks(self) -> Iterator[list[bytes]]:
        """The same pieces by as many as make up ``BLOCK_BYTES``."""
        block, size = [], 0
        for piece in self.pieces():
            block.append(piece)
            size += len(piece)
            if size >= BLOCK_BYTES:
                yield block
                block, size = [], 0
        if block:
            yield block

    def pieces(self) -> Iterator[bytes]:
        """The plain bytes in pieces as they come, none empty; few are larger than ``BLOCK_BYTES``."""
        try:
            with self.path.open("rb") as file:
                if self.is_gzip:
                    yield from self._unpacked(file)
                else:
                    while piece := file.read(BLOCK_BYTES):
                        yield piece
        except OSError as error:
            raise StepscopeError(f"{self.path} cannot be read ({_reason(error)}); copy it again.") from None

    def _unpacked(self, file: BinaryIO) -> Iterator[bytes]:
        delivered = 0
        try:
            for plain in _inflate(inflate, _pieces(file)):
                delivered += len(plain)
                yield plain
        except EOFError:
            self.damage = "its gzip data end early"
        except (zlib.error, inflate.error) as error:
            self.damage = f"its gzip data are damaged ({error})"
            yield from self._up_to_the_fault(delivered, near=file.tell() - 2 * _PACKED_BYTES)

    def _up_to_the_fault(self, delivered: int, near: int) -> Iterator[bytes]:
        """What lies between the ``delivered`` bytes and the fault, which comes after packed byte ``near``.

        A decoder that meets a fault throws away the output of that call, so the file is unpacked once
        more, from ``near`` on byte by byte.
        """
        seen = 0
        with self.path.open("rb") as file:
            try:
                for plain in _inflate(zlib, _pieces(file, near)):
                    seen += len(plain)
                    if seen > delivered:
                        yield plain[delivered - seen :]
                        delivered = seen
            except (zlib.error, EOFError):
                return


def _pieces(file: BinaryIO, bytewise_from: int | None = None) -> Iterator[bytes]:
    while True:
        fine = bytewise_from is not None and file.tell() >= bytewise_from
        piece = file.read(1 if fine else _PACKED_BYTES)
        if not piece:
            return
        yield piece


def _inflate(module: Any, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Unpack one or more gzip members; what follows the last and is no member is padding.

    Raises:
        EOFError: the data end inside a member.
        module.error: the data are damaged.
    """
    unpack = module.decompressobj(wbits=_GZIP)
    begun = True
    for piece in pieces:
        packed = piece
        while packed:
            if not begun:
                if not packed.startswith(GZIP_MAGIC[: len(packed)]):
                    return
                unpack = module.decompressobj(wbits=_GZIP)
                begun = True
            plain = unpack.decompress(packed)
            if plain:
                yield plain
            packed = unpack.unused_data if unpack.eof else b""
            begun = not unpack.eof
    if begun:
        rest = unpack.flush()
        if rest:
            yield rest
        raise EOFError


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
