"""Which deep window comes next: one of the plan, or one that was asked for and goes first."""

from __future__ import annotations

from stepscope.controlled import Capture
from stepscope_torch.schedule import Schedule, next_window


class Upcoming:
    """All methods but ``ask`` are for the training thread."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        #: The step with which the next window begins; None: none is due.
        self.step = next_window(schedule, 0, None)
        #: What was asked for, once it is put before the plan and until its window is recorded.
        self.wanted: Capture | None = None
        self.is_off = False  # there will be no further window
        self._asked: Capture | None = None  # the same from when it was asked for
        self._planned: int | None = None  # what was next in the plan when it was put first
        self._planned_taken = 0

    def ask(self, capture: Capture) -> str | None:
        """A window besides the plan, as soon as can be. Returns why there will be none. For any thread."""
        if self.is_off:
            return "Deep windows are switched off in this process; the notes say why."
        if self._asked is not None:
            return "Another capture is under way in this process; ask again when it is done."
        self._asked = capture
        return None

    @property
    def is_asked(self) -> bool:
        """Whether something was asked for that ``put_first`` has not seen yet."""
        return self._asked is not self.wanted

    def put_first(self, earliest: int) -> None:
        """What was asked for goes before the plan; it begins with step ``earliest`` or later."""
        capture = self.wanted = self._asked
        assert capture is not None
        self._planned, self.step = self.step, capture.settle(earliest)

    def taken(self, first_step: int) -> None:
        """A window that began with ``first_step`` is recorded: what was asked for is done with, or the plan goes on."""
        if self.wanted is None:
            self._planned_taken += 1
            self.step = next_window(self.schedule, self._planned_taken, first_step)
        else:
            self.wanted = self._asked = None
            self.step = self._planned

    def miss(self, why: str) -> None:
        """The window that was next does not come: the plan goes on after one that was asked for, else it ends."""
        self.step = self._planned if self.wanted is not None else None
        self.fail(why)

    def fail(self, why: str) -> None:
        """What was asked for does not come."""
        capture, self._asked, self.wanted = self._asked, None, None
        if capture is not None:
            capture.failure = why

    def end(self, why: str) -> None:
        """No window comes any more."""
        self.is_off = True
        self.step = None
        self.fail(why)
