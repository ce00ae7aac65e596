"""What the writer thread does besides writing: answers requests, looks for hangs and slow steps, minds the budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stepscope.budget import OverheadBudget
from stepscope.companions import Companions
from stepscope.controlled import Capture, Control, Handlers
from stepscope.convert import ON_DEMAND
from stepscope.flight import FlightPlan, FlightRecorder
from stepscope.recorder import Recorder
from stepscope.watch import Activity, Watch


class Hook(Protocol):
    """A framework's hook, as seen from the writer thread."""

    @property
    def features(self) -> Sequence[str]:
        """What it can give up for the overhead budget, the first first."""

    def ask(self, capture: Capture) -> str | None:
        """Take a deep window soon; why not, if it does not."""

    def stalls(self) -> tuple[int, int]:
        """Nanoseconds that deep windows have stalled the training, and how many there were."""

    def set_interval(self, interval_ms: int) -> str | None:
        """Sample the machine so often; why not, if it does not."""

    def activity(self) -> Activity:
        """What is open right now."""

    def thread(self) -> int:
        """Ident of the training thread."""

    def hook_ns(self) -> int | None:
        """What the hooks cost in a step."""

    def shed(self, feature: str) -> None:
        """Give a feature up."""


def attend(recorder: Recorder, hook: Hook, flight_plan: FlightPlan | None, budget: float | None) -> FlightRecorder:
    """Have the recorder's writer thread do all this; returns what takes the training's losses."""
    assert recorder.folder is not None
    flight = FlightRecorder(recorder, flight_plan, hook.ask, hook.stalls, ask_all=Companions(recorder).ask)

    def take(capture: Capture) -> str | None:
        return hook.ask(capture) if capture.reason["why"] == ON_DEMAND else flight.take(capture)

    handlers = Handlers(take, hook.set_interval, lambda: recorder.stop_soon("It was asked to stop."))
    control = Control(recorder.run, recorder.folder.id, handlers)
    watch = Watch(recorder, hook.activity, hook.thread)
    overhead = OverheadBudget(recorder, budget, hook.features, hook.hook_ns, hook.shed)
    recorder.observers += [flight.observe, overhead.observe]
    recorder.each_write.append(control.poll)
    recorder.each_round += [watch.look, flight.look, overhead.look]
    recorder.at_end += [flight.look, control.close, watch.close]
    return flight
