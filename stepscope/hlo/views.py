"""What the viewer shows of a program, made once each: its memory and its graph."""

from __future__ import annotations

import threading

from stepscope.hlo.graph import Graphs
from stepscope.hlo.memory import MemoryCourse, memory_course
from stepscope.hlo.programs import Programs


class ProgramViews:
    """Memory and graphs of the programs of one worker, by their numbers. Any thread may ask."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        self._lock = threading.Lock()
        self._memory: dict[int, MemoryCourse | None] = {}
        self._graphs: dict[int, Graphs] = {}

    def memory(self, number: int) -> MemoryCourse | None:
        """None where the compiler left no buffer assignment, or there is no such program."""
        with self._lock:
            if number not in self._memory:
                module = self._programs.module(number)
                self._memory[number] = None if module is None else memory_course(module)
            return self._memory[number]

    def graphs(self, number: int) -> Graphs | None:
        """None where there is no such program."""
        with self._lock:
            if number not in self._graphs:
                module = self._programs.module(number)
                if module is None:
                    return None
                self._graphs[number] = Graphs(module)
            return self._graphs[number]
