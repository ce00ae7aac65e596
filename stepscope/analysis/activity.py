"""What the machine did in each step: an exclusive partition by class of activity."""

from __future__ import annotations

import numpy as np

from stepscope.analysis import intervals
from stepscope.analysis.select import covered, host_rows
from stepscope.analysis.steps import Steps
from stepscope.schema import ACTIVITIES, Events, Kind

#: Kinds of each class. Host classes count host lanes only; steps, annotations, modules and Python frames are
#: frames around work, not work.
CLASS_KINDS: dict[str, tuple[Kind, ...]] = {
    "kernel": (Kind.KERNEL,),
    "communication": (Kind.COLLECTIVE,),
    "memcpy": (Kind.MEMCPY,),
    "memset": (Kind.MEMSET,),
    "runtime": (Kind.RUNTIME, Kind.LAUNCH, Kind.SYNC),
    "dataloader": (Kind.DATALOADER,),
    "cpu": (Kind.OP,),
}
_HOST_CLASSES = ("runtime", "dataloader", "cpu")


def activity_by_step(events: Events, steps: Steps) -> dict[str, np.ndarray]:
    """Time of each class in each step, shape (steps,) int64 ns; the classes of a step sum to its duration.

    Taken in the order of ``ACTIVITIES``, each class gets the part of the step that its events cover and no
    earlier class took; ``other`` is what remains. Rows of steps that no deep window covers are meaningless.

    Metrics:
        kernel: compute kernels run on some device
        communication: collectives run and no compute kernel does (exposed communication)
        memcpy: copies run and none of the above
        memset: fills run and none of the above
        runtime: the host is in a device runtime or driver call (launches and synchronisation included) and
            no device works
        dataloader: a batch is being produced or fetched and none of the above
        cpu: a framework operator runs on the host and none of the above
        other: the rest of the step; nothing that was recorded
    """
    sets = [covered(events, _rows(events, name)) for name in CLASS_KINDS]
    start, end = steps.start_ns, steps.end_ns
    out = {
        name: intervals.length_within(own, start, end)
        for name, own in zip(CLASS_KINDS, intervals.exclusive(sets), strict=True)
    }
    out["other"] = steps.duration_ns - np.sum(list(out.values()), axis=0, dtype=np.int64)
    return {name: out[name] for name in ACTIVITIES}


def _rows(events: Events, name: str) -> np.ndarray:
    kinds = CLASS_KINDS[name]
    return host_rows(events, *kinds) if name in _HOST_CLASSES else np.flatnonzero(events.of_kind(*kinds))
