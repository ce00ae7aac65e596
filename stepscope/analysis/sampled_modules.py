"""Modules of the model in the steps in which the always-on recorder looked at them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.enclosing import inside
from stepscope.analysis.groups import Groups
from stepscope.analysis.modules import MAX_MODULES
from stepscope.analysis.nesting import nest
from stepscope.analysis.select import host_rows
from stepscope.schema import Events, Kind


@dataclass(frozen=True)
class SampledModule:
    """Host time of one module's forward calls in the sampled steps of the always-on stream.

    Two steps in 50 are sampled, in 500 where steps are short.

    Sums over the sampled steps. On a GPU, host time is what launching takes. Calls that a backward pass makes anew
    (checkpoints) are left out; code inside a compiled region has no calls, the region is one module. The list is
    bounded: the 1,000 modules with the most time.

    Metrics:
        name: its place in the model, such as layers.0.attention; of the outermost module the class
        steps: how many steps were sampled in which it was called
        calls: forward calls in these steps
        forward_host_total_ns: time inside the calls
        forward_host_self_ns: the same without the modules that it calls
    """

    name: str
    steps: int
    calls: int
    forward_host_total_ns: int
    forward_host_self_ns: int


def sampled_modules(live: Events) -> list[SampledModule] | None:
    """The modules with the most time first; None where no step was sampled."""
    rows = host_rows(live, Kind.MODULE)
    if len(rows) == 0:
        return None
    backward = host_rows(live, Kind.PHASE)
    backward = backward[np.array([name == "backward" for name in live.names], bool)[live.name[backward]]]
    if len(backward):
        rows = rows[~inside(live, backward, rows)]
    tree = nest(live, rows)
    groups = Groups(live.name[tree.rows])
    step_of_module = np.unique(np.stack((live.name[tree.rows].astype(np.int64), live.step[tree.rows])), axis=1)[0]
    steps = dict(zip(*np.unique(step_of_module, return_counts=True), strict=True))
    columns = (groups.count, groups.sum(live.dur_ns[tree.rows]), groups.sum(tree.self_ns(live)))
    found = [
        SampledModule(live.names[name], int(steps[name]), *sums)
        for name, *sums in zip(groups.keys.tolist(), *(column.tolist() for column in columns), strict=True)
    ]
    return sorted(found, key=lambda m: (-m.forward_host_total_ns, m.name))[:MAX_MODULES]
