"""How each kernel run was launched: grid, block, and what its record estimates of its use of the device."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepscope.analysis.launches import Links
from stepscope.analysis.order import coded
from stepscope.analysis.select import device_of
from stepscope.schema import NONE, Device, Events

Dim3 = tuple[int, int, int]

#: XPlane writes " grid:16,1,1 block:512,1,1 ..." as one text.
_XPLANE = re.compile(r"\b(grid|block):(\d+),(\d+),(\d+)")
#: The HIP call whose grid counts work items; that of every other call counts blocks.
_COUNTS_ITEMS = "hipExtModuleLaunchKernel"


@dataclass(frozen=True)
class Shape:
    """Grid in blocks and block in threads; None where neither the record nor the launch call tells."""

    grid: Dim3 | None = None
    block: Dim3 | None = None


@dataclass(frozen=True, eq=False)
class LaunchConfigs:
    """``shape`` (one entry a run) points into ``shapes``, which differ from one another.

    ``blocks_per_sm`` and ``occupancy`` (0..1, achieved, as the record estimates it) are NaN where unknown.
    A 0 for a kernel that puts a warp or more on each multiprocessor is no estimate.
    """

    shapes: list[Shape]
    shape: np.ndarray
    blocks_per_sm: np.ndarray
    occupancy: np.ndarray


def launch_configs(
    events: Events, rows: np.ndarray, links: Links | None = None, devices: Sequence[Device] = ()
) -> LaunchConfigs:
    """Launch configurations of kernel runs.

    The record tells, else its launch call (ROCm). Blocks per multiprocessor are as recorded, else grid blocks
    over the multiprocessors of the device.

    Args:
        rows: kernels and collectives.
        links: launches and runs of ``events``.
        devices: for their number of multiprocessors.
    """
    call = _calls(events, rows, links)
    items = np.zeros(len(rows), bool)
    if _COUNTS_ITEMS in events.names:
        counts_items = np.array([*(name == _COUNTS_ITEMS for name in events.names), False])
        items = np.where(call != NONE, counts_items[events.name[call]], False)

    own, at = coded(events.args[rows].astype(np.int64) * 2 + items)
    found = [_read(_args(events, int(key) >> 1), bool(key & 1)) for key in own.tolist()]
    shapes: dict[Shape, int] = {}
    shape = np.array([shapes.setdefault(f.shape, len(shapes)) for f in found], np.int64)[at]
    lacking = np.array([f.shape.grid is None for f in found], bool)[at] & (call != NONE)
    if lacking.any():
        calls, call_at = coded(events.args[call[lacking]].astype(np.int64) * 2 + items[lacking])
        of_calls = [_read(_args(events, int(key) >> 1), bool(key & 1)) for key in calls.tolist()]
        shape[lacking] = np.array([shapes.setdefault(f.shape, len(shapes)) for f in of_calls], np.int64)[call_at]

    blocks = np.array([f.blocks_per_sm for f in found], np.float64)[at]
    occupancy = np.array([f.occupancy for f in found], np.float64)[at]
    counts = {one.id: one.sm_count for one in devices if one.sm_count}
    lacking = np.flatnonzero(np.isnan(blocks)) if counts else rows[:0]
    grid_blocks = np.array([math.prod(s.grid) if s.grid else math.nan for s in shapes], np.float64)[shape[lacking]]
    ordinals, device = coded(device_of(events, rows[lacking]))
    # ROCm numbers the devices of its queues otherwise than the header does: there, all being alike must do.
    other = counts[min(counts)] if len(set(counts.values())) == 1 else math.nan
    blocks[lacking] = grid_blocks / np.array([counts.get(i, other) for i in ordinals.tolist()], np.float64)[device]
    return LaunchConfigs(list(shapes), shape, blocks, occupancy)


@dataclass(frozen=True)
class _Told:
    shape: Shape
    blocks_per_sm: float
    occupancy: float


def _calls(events: Events, rows: np.ndarray, links: Links | None) -> np.ndarray:
    """The row of each run's launch call, ``NONE`` where unknown."""
    if links is None or len(links.call) == 0:
        return np.full(len(rows), NONE, np.int64)
    call = np.full(len(events), NONE, np.int64)
    hit = links.call_of_run != NONE
    call[links.run[hit]] = links.call[links.call_of_run[hit]]
    return call[rows]


def _args(events: Events, index: int) -> dict:
    return {} if index == NONE else json.loads(events.args_values[index])


def _read(args: dict, grid_counts_items: bool) -> _Told:
    grid, block = _dim3(args.get("grid")), _dim3(args.get("block"))
    if grid and block and grid_counts_items and not any(g % b for g, b in zip(grid, block, strict=True)):
        x, y, z = (g // b for g, b in zip(grid, block, strict=True))
        grid = x, y, z
    if isinstance(details := args.get("kernel_details"), str):
        sides = {side: _dim3([int(n[:18]) for n in numbers]) for side, *numbers in _XPLANE.findall(details)}
        grid, block = sides.get("grid", grid), sides.get("block", block)
    percent = _number(args.get("est. achieved occupancy %"))
    occupancy = percent / 100 if percent is not None and 0 <= percent <= 100 else math.nan
    # PyTorch writes 0 where its calculator finds that no block fits, as for kernels with more shared memory than it
    # knows of: matrix products of an H100 with 12 warps on each multiprocessor, 19 % of what it holds, say 0.
    if percent == 0 and (_number(args.get("warps per SM")) or 0) >= 1:
        occupancy = math.nan
    blocks = _number(args.get("blocks per SM"))
    return _Told(Shape(grid, block), math.nan if blocks is None else blocks, occupancy)


def _dim3(value: object) -> Dim3 | None:
    """Three whole positive numbers; damage may have made them anything."""
    if not isinstance(value, list) or len(value) != 3:
        return None
    x, y, z = (n if isinstance(n, int) and not isinstance(n, bool) and 0 < n < 1 << 40 else 0 for n in value)
    return (x, y, z) if x and y and z else None


def _number(value: object) -> float | None:
    """A finite number of a trace's args; damage may have made it a text or of any size."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e18:
        return None
    return float(value)
