"""The samples of a batch as the recorded input shapes of a deep window tell them, for who told no batch size."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np

from stepscope.analysis.arguments import OperatorArgs, decode
from stepscope.analysis.select import host_rows
from stepscope.analysis.steps import Steps
from stepscope.schema import Events, Kind

#: Operators that meet the batch early in a forward pass, the surest first: which of their inputs it is, and the
#: dimensions that it has at least. Convolutions take batches only; of embeddings those of positions have the size 1.
#: What a linear layer gets may be tokens, so it counts where nothing else is.
_READ = (
    ({"aten::conv1d": 3, "aten::conv2d": 4, "aten::conv3d": 5}, 0),
    ({"aten::embedding": 2}, 1),
    ({"aten::linear": 2}, 0),
)


def batch_by_shapes(events: Events, steps: Steps) -> tuple[int, str] | None:
    """The size and the operator that it was read off: the first one of each complete step, or of embeddings the
    largest one. None where shapes were not recorded, or where half of the steps or more had another size."""
    deep = steps.complete & steps.deep
    start, end = steps.host_start_ns[deep], steps.host_end_ns[deep]
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    ops = host_rows(events, Kind.OP)
    for operators, which in _READ:
        wanted = np.array([name in operators for name in events.names], bool)
        rows = ops[wanted[events.name[ops]]] if len(wanted) else ops[:0]
        rows = rows[np.argsort(events.ts_ns[rows], kind="stable")]
        step = np.searchsorted(start, events.ts_ns[rows], "right") - 1
        inside = step >= 0
        inside[inside] = events.ts_ns[rows][inside] < end[step[inside]]
        rows, step = rows[inside], step[inside]
        told, code = decode(events, rows, OperatorArgs)
        shapes = [_shape(args, which) for args in told]
        # Before the loop: where shapes were not recorded, none of many operators has one.
        least = np.array([operators.get(name, 0) for name in events.names], np.int64)
        usable = np.array([len(shape) for shape in shapes], np.int64)[code] >= least[events.name[rows]]
        rows, step, code = rows[usable], step[usable], code[usable]
        if which == 0:
            first = np.flatnonzero(np.diff(step, prepend=-1))
            rows, step, code = rows[first], step[first], code[first]
        sizes: dict[int, tuple[int, str]] = {}
        for at, row, one in zip(step.tolist(), rows.tolist(), code.tolist(), strict=True):
            name, shape = events.names[events.name[row]], shapes[one]
            sizes[at] = max(sizes.get(at, (0, "")), (shape[0], name))
        if sizes:
            found, count = Counter(sizes.values()).most_common(1)[0]
            return found if 2 * count > len(start) and found[0] > 0 else None
    return None


def _shape(args: OperatorArgs, which: int) -> list[int]:
    """The dimensions of one input; none where they are not told, or where it is a list of tensors."""
    try:
        told = msgspec.json.decode(args.shapes)
    except msgspec.MsgspecError:
        return []
    shape = told[which] if isinstance(told, list) and which < len(told) else None
    return shape if isinstance(shape, list) and all(type(n) is int for n in shape) else []
