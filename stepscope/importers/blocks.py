"""Joins the blocks in which importers read: columns one behind the other, and the lanes that are used."""

from __future__ import annotations

import numpy as np

from stepscope.importers.text_columns import distinct
from stepscope.schema import Lane


def joined(blocks: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The columns of all blocks (at least one), which are emptied on the way to save memory."""
    return {name: np.concatenate([block.pop(name) for block in blocks]) for name in list(blocks[0])}


def used_lanes(lane: np.ndarray, lanes: list[Lane]) -> tuple[np.ndarray, list[Lane]]:
    """The lane column and the lanes without those that no event lies on, in the same order."""
    used, renumbered = distinct(lane)
    return renumbered.astype(np.int32), [lanes[i] for i in used.tolist()]
