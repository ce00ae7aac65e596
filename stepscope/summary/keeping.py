"""The analysis of a worker as a file that is kept of it (``stepscope.kept``): a million events take a second or two to
analyse, and a tenth of that to read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from stepscope import kept
from stepscope.summary.analysed import Analysis
from stepscope.workers import Worker

#: Raise it when the format or what is in it changes.
_VERSION = 8
FILE_NAME = "analysis.zst"
#: What is larger unpacked is not kept: a run of millions of steps.
_MOST_BYTES = 256 << 20
_CODEC = "zstd"


@dataclass(frozen=True, eq=False)
class Kept:
    """An analysis, what the monitor saw, and the state of the files that they were made of."""

    state: str
    analysis: Analysis
    resources: dict[str, Any] | None


def state_of(worker: Worker) -> str | None:
    """The state of the worker's files; None where no analysis is kept, as of a running job."""
    return None if worker.is_live else kept.state_of(worker, _VERSION)


def read(worker: Worker) -> Kept | None:
    """The analysis that is kept of the worker's files as they are now; None where there is none."""
    state = state_of(worker)
    if state is None:
        return None
    for data in kept.read(worker, FILE_NAME):
        try:
            size = int.from_bytes(data[:8], "little")
            if size > _MOST_BYTES:
                continue
            found = _DECODER.decode(pa.decompress(data[8:], size, _CODEC))
        except (pa.ArrowException, OSError, msgspec.MsgspecError, ValueError, TypeError):
            continue  # not one of ours, or damaged: it is made anew
        if found.state == state:
            return found
    return None


def write(worker: Worker, found: Kept) -> bool:
    """Keep the analysis, whole or not at all; False where there is no place for it, or it is too large."""
    plain = msgspec.msgpack.encode(found, enc_hook=_of_array)
    if len(plain) > _MOST_BYTES:
        return False
    return kept.write(worker, FILE_NAME, len(plain).to_bytes(8, "little") + pa.compress(plain, _CODEC, asbytes=True))


def _of_array(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.dtype.str, np.ascontiguousarray(value).tobytes()
    raise NotImplementedError(f"{type(value).__name__} is no part of an analysis")


def _to_array(kind: type, value: Any) -> np.ndarray:
    dtype, data = value
    return np.frombuffer(data, np.dtype(dtype))


_DECODER = msgspec.msgpack.Decoder(Kept, dec_hook=_to_array)
