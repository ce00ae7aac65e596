"""Host times of the model's modules in a few steps now and then.

To record every call of every module all the time would cost 2 us a call, and full backward hooks break models with
in-place operations; so nothing stands at the modules but for those few steps, and there is no backward.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident, get_native_id
from time import perf_counter_ns
from typing import Any

from stepscope.recorder import Row
from stepscope.schema import Kind
from stepscope_torch.entrance import Entrance, is_compiling
from stepscope_torch.loop import Loop
from stepscope_torch.module_scopes import Roots, named
from stepscope_torch.part import Failed, Part

#: Steps of a sample.
STEPS = 2
#: Steps from one sample to the next, where the user does not say: the other number where a step of a sample, which
#: costs so much and so much for each call, is longer by more than one in a hundred.
EVERY, EVERY_OF_SHORT = 50, 500
_STEP_NS, _CALL_NS = 100_000, 2_000
#: Calls in one step above which its sample is thrown away: a module called for each token, say.
MAX_CALLS = 20_000
_MODULE = int(Kind.MODULE)


class ModuleTimes(Part):
    """The calls of all modules in ``STEPS`` steps of about ``every``, as rows of kind MODULE.

    Where ``every`` is None it is ``EVERY``, or ``EVERY_OF_SHORT`` where steps are.
    """

    name = "modules"

    def __init__(self, loop: Loop, failed: Failed, roots: Roots, every: int | None) -> None:
        super().__init__(loop, failed)
        self.every = every
        self._roots = roots
        self._entrances: list[Entrance] = []
        self._names: list[str] = []
        self._calls: list[tuple[int, int, int]] = []  # place in _names, begin, end
        self._first = 0  # the step with which the sample begins, or the next one will
        self._begun: int | None = None  # the step with which the latest sample began
        self._number = 0  # the step that is open
        self._most_calls = 0  # in a step of a sample

    def install(self) -> None:
        self.loop.checks.append(self._maybe_begin)

    def remove(self) -> None:
        super().remove()
        self._leave()

    def _maybe_begin(self) -> None:
        loop = self.loop
        number = loop.tracker.number
        if not self.live or self._entrances or number < self._first or self._window_is_near(number + STEPS):
            return
        try:
            self._tell_interval(number)
            self._first = self._number = number
            self._names = []
            for name, module in named(self._roots()):
                self._names.append(name)
                self._entrances.append(Entrance(module, self._around(len(self._names) - 1)))
            loop.after_segment.append(self._segment_ended)
        except Exception as error:
            self._leave()
            self.fail(error)

    def _tell_interval(self, number: int) -> None:
        """In worker.json, from the second sample on: how far apart they are, which is not only what was asked for."""
        begun, self._begun = self._begun, number
        options = self.loop.recorder.meta.get("options", {})
        if begun is not None and options.get("modules_every") != number - begun:
            self.loop.recorder.update_meta(options={**options, "modules_every": number - begun})

    def _window_is_near(self, step: int) -> bool:
        windows = self.loop.windows
        return windows.is_open or step >= windows.quiet_until

    def _around(self, place: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        thread, calls = self.loop.thread, self._calls

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                if is_compiling() or get_ident() != thread or not self._entrances or len(calls) > MAX_CALLS:
                    return original(*args, **kwargs)
                begin = perf_counter_ns()
                try:
                    return original(*args, **kwargs)
                finally:
                    calls.append((place, begin, perf_counter_ns()))

            return call

        return make

    def _segment_ended(self) -> bool:
        """What was called belongs to the step that has ended, if one has; validation is not sampled."""
        number = self.loop.tracker.number
        calls = self._calls
        self._most_calls = max(self._most_calls, len(calls))
        if number > self._number and calls and self.live:
            if len(calls) > MAX_CALLS:
                self.loop.recorder.note("dropped_spans", "A step called modules too often to sample them.", len(calls))
            else:
                self.loop.recorder.fast_lane()((_rows, (number - 1, self._names, calls[:]), get_native_id()))
        self._number = number
        calls.clear()
        if self.live and number < self._first + STEPS and not self._window_is_near(number):
            return True
        self._leave()
        self._first += self.every or self._usual_interval()
        return False

    def _usual_interval(self) -> int:
        cost_ns = _STEP_NS + _CALL_NS * self._most_calls
        return EVERY if cost_ns * 100 < self.loop.step_ns else EVERY_OF_SHORT

    def _leave(self) -> None:
        for entrance in self._entrances:
            entrance.remove()
        self._entrances = []


def _rows(step: int, names: list[str], calls: list[tuple[int, int, int]]) -> list[Row]:
    return [(_MODULE, names[place], begin, end, step, None) for place, begin, end in calls]
