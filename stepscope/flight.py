"""The flight recorder: a deep window opens by itself after a step that is far too slow, or a loss that is no number.

What happens then is what happens next: a window cannot look back. The always-on rows hold what came before it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepscope.controlled import Capture
from stepscope.errors import StepscopeError
from stepscope.live_columns import Written
from stepscope.recorder import Recorder
from stepscope.report import format as fmt
from stepscope.schema import Kind

#: Latest steps whose times say what is usual, and how many of them are needed.
HISTORY, LEAST_HISTORY = 1000, 50
#: A step is slow if it is above this quantile of the history, this multiple of its median, and exceeds the median by
#: so much: a window stalls the training for longer than that, so less is not worth one.
QUANTILE, TIMES_MEDIAN, LEAST_EXCESS_NS = 0.99, 1.5, 20_000_000
#: Before a recording has lasted so long, slow steps are taken for the training's warming up.
SETTLED_NS = 30_000_000_000
#: Steps after a window that are not looked at: the profiler may still slow them.
REST_STEPS = 20
#: After it has asked all workers, this one among them, it asks no more until they have seen it.
ANSWERED_NS = 5_000_000_000
#: Stall of a window that is assumed until one has been taken.
_ASSUMED_STALL_NS = 500_000_000


@dataclass(frozen=True)
class FlightPlan:
    """What the flight recorder may do.

    Args:
        windows: how many windows it opens at most in a recording.
        time_ratio: it opens none that would bring the stalls of all deep windows above this share of the time since
            the recording began; the one for a loss that is no number excepted.
        steps: steps in a window.

    Raises:
        StepscopeError: a value makes no plan.
    """

    windows: int = 2
    time_ratio: float = 0.01
    steps: int = 3

    def __post_init__(self) -> None:
        if self.windows < 0 or self.steps < 1 or not 0 <= self.time_ratio <= 1:
            raise StepscopeError(f"{self!r}: give windows >= 0, steps >= 1 and a time_ratio from 0 to 1.")


def as_plan(given: FlightPlan | bool | None, has_windows: bool) -> FlightPlan | None:
    """The plan that the argument ``flight_recorder`` means; None for it follows whether windows are planned at all."""
    if isinstance(given, FlightPlan):
        return given
    return FlightPlan() if (has_windows if given is None else given) else None


class FlightRecorder:
    """Asks for windows. All methods but ``loss`` are for the writer thread.

    Args:
        ask: takes the capture, or says why not.
        stall_ns: what deep windows have cost so far, and how many there were.
        ask_all: asks all workers of the job, this one included, for a window of the same steps: (reason, steps, the
            usual time of one); False if this one is alone.
    """

    def __init__(
        self,
        recorder: Recorder,
        plan: FlightPlan | None,
        ask: Callable[[Capture], str | None],
        stall_ns: Callable[[], tuple[int, int]],
        now_ns: Callable[[], int] = time.monotonic_ns,
        ask_all: Callable[[dict[str, Any], int, int], bool] | None = None,
    ) -> None:
        self._recorder = recorder
        self._plan = plan
        self._ask = ask
        self._stall_ns = stall_ns
        self._ask_all = ask_all
        self._asked_all_ns: int | None = None  # when it last did
        self._now_ns = now_ns
        self._began_ns = now_ns()
        self._history = np.empty(0, np.int64)
        self._taken = 0
        self._capture: Capture | None = None  # the one under way
        self._rest = 0  # steps that are still not looked at
        self._bad_loss: dict[str, Any] | None = None
        self._told_loss = False

    def loss(self, value: float, step: int) -> None:
        """The training's loss in a step. For any thread."""
        if not math.isfinite(value) and self._bad_loss is None:
            self._bad_loss = {"why": "loss_not_finite", "step": step, "value": str(float(value))}

    def observe(self, written: Written) -> None:
        """What the recorder writes."""
        if self._capture is not None or written.count(Kind.OVERHEAD):
            self._rest = REST_STEPS
            return
        number, dur_ns = written.steps
        if self._rest:
            rested = min(self._rest, len(number))
            self._rest -= rested
            number, dur_ns = number[rested:], dur_ns[rested:]
        if not len(number):
            return
        if self._plan is not None and len(self._history) >= LEAST_HISTORY:
            slowest = int(dur_ns.argmax())
            self._judge(int(dur_ns[slowest]), int(number[slowest]))
        self._history = np.concatenate((self._history, dur_ns))[-HISTORY:]

    def look(self) -> None:
        """After each write."""
        if self._capture is not None:
            outcome = self._capture.outcome()
            if outcome is not None:
                self._capture = None
        if self._bad_loss is not None and not self._told_loss:
            self._told_loss = True
            self._recorder.note("loss_not_finite", sentence(self._bad_loss))
            self._open(self._bad_loss)

    def _judge(self, dur_ns: int, step: int) -> None:
        history = self._history
        if dur_ns <= history.min() + LEAST_EXCESS_NS:  # the median is no less: the common case, told at once
            return
        usual_ns = int(np.median(history))
        if dur_ns <= max(np.quantile(history, QUANTILE), TIMES_MEDIAN * usual_ns, usual_ns + LEAST_EXCESS_NS):
            return
        if self._is_within_budget():
            self._open({"why": "slow_step", "step": step, "dur_ns": dur_ns, "usual_ns": usual_ns})

    def _is_within_budget(self) -> bool:
        assert self._plan is not None
        stall_ns, windows = self._stall_ns()
        next_ns = stall_ns // windows if windows else _ASSUMED_STALL_NS
        elapsed_ns = self._now_ns() - self._began_ns
        return elapsed_ns >= SETTLED_NS and stall_ns + next_ns <= self._plan.time_ratio * elapsed_ns

    def _open(self, reason: dict[str, Any]) -> None:
        if self._plan is None or self._taken >= self._plan.windows:
            return
        now_ns = self._now_ns()
        if self._asked_all_ns is not None and now_ns - self._asked_all_ns < ANSWERED_NS:
            return
        usual_ns = int(np.median(self._history)) if len(self._history) else 0
        if self._ask_all is not None and self._ask_all(reason, self._plan.steps, usual_ns):
            self._asked_all_ns = now_ns
        else:
            self.take(Capture(self._plan.steps, 0, reason))

    def take(self, capture: Capture) -> str | None:
        """A window that this flight recorder or that of another worker asks for; why not, if it is not taken."""
        if self._plan is None or self._taken >= self._plan.windows:
            return "The flight recorder of this worker takes no further window."
        refusal = self._ask(capture)
        if refusal is None:
            self._taken += 1
            self._capture = capture
        return refusal


def sentence(reason: dict[str, Any]) -> str:
    """A reason of ours in words."""
    rank = reason.get("rank")
    step = f"tep {reason['step']}" + ("" if rank is None else f" of rank {rank}")
    if reason.get("why") == "slow_step":
        took, usual = reason["dur_ns"], reason["usual_ns"]
        return f"S{step} took {fmt.time(took)}, {took / max(1, usual):.1f} times the usual {fmt.time(usual)}."
    return f"The loss was {reason['value']} in s{step}."
