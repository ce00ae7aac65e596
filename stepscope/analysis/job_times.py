"""Where the time of a job went around its steps: getting ready, the training loop, what follows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stepscope.analysis import intervals
from stepscope.analysis.steps import Steps


@dataclass(frozen=True)
class JobTimes:
    """The time from the start of the recording to its end; the parts sum to it.

    Null for imported files, which do not tell when their job began, and without steps.

    Metrics:
        initialisation_ns: from the start of the recording to the first step
        steps_ns: in steps, a union
        between_ns: between steps: epochs' ends, evaluation, checkpoints
        finalisation_ns: from the end of the last step to the end of the recording; null while it goes on, and where
            the job never said that it ended
    """

    initialisation_ns: int
    steps_ns: int
    between_ns: int
    finalisation_ns: int | None


def job_times(steps: Steps, meta: Mapping[str, Any]) -> JobTimes | None:
    """The parts of a recorded job; None where its start is not told or there is no step."""
    started, ended = meta.get("started_ns"), meta.get("ended_ns")
    if not isinstance(started, int) or len(steps) == 0:
        return None
    first, last = int(steps.start_ns.min()), int(steps.end_ns.max())
    inside = intervals.length(intervals.union(steps.start_ns, steps.end_ns))
    return JobTimes(
        initialisation_ns=max(first - started, 0),
        steps_ns=inside,
        between_ns=last - first - inside,
        finalisation_ns=max(ended - last, 0) if isinstance(ended, int) else None,
    )
