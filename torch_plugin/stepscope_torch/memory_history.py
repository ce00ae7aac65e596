"""What the CUDA allocator holds, and its history, in files for torch's memory viewer. Not verified on a GPU."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import torch

from stepscope.errors import StepscopeError

#: Allocations and frees that the history holds at most; about 1 kB each, with their Python stacks.
MAX_ENTRIES = 100_000


class MemoryHistory:
    """Snapshots of one worker. From the first one on the allocator keeps a history, which the later ones contain."""

    def __init__(self) -> None:
        self._is_ours = False

    def snapshot(self, folder: Path) -> Path:
        """Save ``memory-000001.pickle`` (or the next number) in ``folder``.

        Raises:
            StepscopeError: the training does not use CUDA.
        """
        if not (torch.cuda.is_available() and torch.cuda.is_initialized()):
            raise StepscopeError("memory_snapshot: this training does not use CUDA (yet), so there is nothing to save.")
        path = next(p for i in itertools.count(1) if not (p := folder / f"memory-{i:06d}.pickle").exists())
        beside = path.with_name(f".{path.name}.tmp")
        torch.cuda.memory._dump_snapshot(str(beside))
        os.replace(beside, path)
        is_on = getattr(torch._C, "_cuda_isHistoryEnabled", None)
        if not self._is_ours and not (is_on is not None and is_on()):  # else the script keeps one of its own
            torch.cuda.memory._record_memory_history(context="alloc", stacks="python", max_entries=MAX_ENTRIES)
            self._is_ours = True
        return path

    def stop(self) -> None:
        """Keep no history any more, unless it is the script's."""
        if self._is_ours:
            self._is_ours = False
            torch.cuda.memory._record_memory_history(enabled=None)
