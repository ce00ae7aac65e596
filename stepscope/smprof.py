"""Runs scripts that were written for the SageMaker Profiler: the same names, recorded by stepscope.

>>> import stepscope.smprof as smprof
>>> profiler = smprof.SMProfiler.instance()
>>> config = smprof.Config()
>>> config.profiler = {"EnableCuda": "1"}
>>> profiler.configure(config)

A script that cannot be changed at all runs by ``python -m stepscope.smprof SCRIPT ...``.

From ``start_profiling`` to ``stop_profiling`` the hook of PyTorch or TensorFlow records, whichever the script has
imported. Regions called ``step_0``, ``step_1`` and so on end the steps, which are numbered through from 0; those
called Forward, Loss, Backward and Optimizer are phases where the hook itself cannot see them.
"""

from __future__ import annotations

import json
import logging
import os
import re
import runpy
import sys
import time
from collections.abc import Mapping
from contextlib import ContextDecorator
from importlib.metadata import distributions
from pathlib import Path
from threading import get_ident
from time import perf_counter_ns
from typing import Any, Protocol

import stepscope
from stepscope import recorder as _recorder
from stepscope.schema import Kind

__all__ = ["Config", "SMProfiler", "annotate", "annotation_begin", "annotation_end"]

log = logging.getLogger("stepscope")

#: Where SageMaker takes what TensorBoard shows from, unless the job says otherwise.
SAGEMAKER_LOGDIR = "/opt/ml/output/tensorboard"

_STEP = re.compile(r"step[_ -]?\d+", re.IGNORECASE).fullmatch
_PHASE = int(Kind.PHASE)


class Hook(Protocol):
    """What a framework's package brings, as the entry point of its framework's name in the group ``stepscope.hooks``.

    It is called with the run folder and whether deep windows are wanted.
    """

    #: The phases that a region of a name (in lower case) stands for, where the hook does not see them itself.
    phases: Mapping[str, str]

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def begin_step(self) -> None: ...
    def end_step(self, complete: bool) -> None: ...


class Config:
    """What is to be recorded.

    ``profiler`` is a dictionary of texts. ``"EnableCuda": "1"`` asks for deep windows, which hold operators and
    kernels; any other value leaves them out. Other keys are ignored.
    """

    def __init__(self) -> None:
        self.profiler: dict[str, str] = {}


class SMProfiler:
    """The profiler of this process; get it by ``instance``. Nothing here raises into the training."""

    _instance: SMProfiler | None = None
    #: What records, of this process. Read at every region: keep it a plain attribute of the class.
    hook: Hook | None = None

    @classmethod
    def instance(cls) -> SMProfiler:
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    def __init__(self) -> None:
        self.config = Config()

    def configure(self, config: Config) -> None:
        """Takes effect with the next ``start_profiling``."""
        self.config = config

    def start_profiling(self) -> None:
        """Begin to record into ``run_folder()``; harmless while that goes on."""
        if SMProfiler.hook is not None:
            return
        try:
            make = _hook_of_the_script()
            if make is None:
                log.warning("stepscope records nothing: import torch or tensorflow before start_profiling().")
                return
            wants_deep = str((self.config.profiler or {}).get("EnableCuda", "0")) == "1"
            hook: Hook = make(run_folder(), wants_deep)
            hook.start()
            SMProfiler.hook = hook
        except Exception as error:
            log.warning("stepscope could not start: %s. Training goes on without it.", error)

    def stop_profiling(self) -> None:
        """End the recording; harmless when repeated. A later ``start_profiling`` begins a new worker of the run."""
        hook, SMProfiler.hook = SMProfiler.hook, None
        if hook is not None:
            hook.stop()


def run_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the job is recorded, the same for all of its ranks: LOGDIR/RUN.

    LOGDIR is ``STEPSCOPE_LOGDIR``, else in a SageMaker container ``/opt/ml/output/tensorboard``, else ``runs``.
    RUN is the name of the training job, else that of the script, with the time where it is no distributed job.
    """
    in_sagemaker = "SM_TRAINING_ENV" in environ or "TRAINING_JOB_NAME" in environ
    logdir = environ.get("STEPSCOPE_LOGDIR") or (SAGEMAKER_LOGDIR if in_sagemaker else "runs")
    name = environ.get("TRAINING_JOB_NAME") or _job_name(environ.get("SM_TRAINING_ENV"))
    if not name:
        name = Path(sys.argv[0] if sys.argv else "").stem or "training"
        if environ.get("WORLD_SIZE", "1") == "1" and "TF_CONFIG" not in environ:
            name += time.strftime("-%Y%m%d-%H%M%S")
    return Path(logdir) / name


def _job_name(training_env: str | None) -> str:
    try:
        return str(json.loads(training_env or "{}").get("job_name") or "")
    except (ValueError, AttributeError):
        return ""


def _hook_of_the_script() -> Any:
    """What makes the hook of the framework that the script has imported, PyTorch before TensorFlow; None without."""
    # entry_points() looks at the first distribution of a name, which in a checkout may be what an old build left
    found = [point for it in distributions(name="stepscope") for point in it.entry_points]
    hooks = {point.name: point for point in found if point.group == "stepscope.hooks"}
    for framework in ("torch", "tensorflow"):
        if framework in sys.modules and framework in hooks:
            return hooks[framework].load()
    return None


class _Region:
    """A region that is open."""

    __slots__ = ("handle", "hook", "name", "start_ns")

    def __init__(self, name: str, hook: Hook) -> None:
        self.name = name
        self.hook = hook
        self.start_ns = 0  # of a step nothing is kept here
        if _STEP(name):
            hook.begin_step()
        else:
            self.handle = stepscope.annotation_begin(name)
            self.start_ns = perf_counter_ns()

    def end(self, complete: bool = True) -> None:
        if not self.start_ns:
            self.hook.end_step(complete)
            return
        end_ns = perf_counter_ns()
        stepscope.annotation_end(self.handle)
        phase = self.hook.phases.get(self.name.lower())
        recorder = _recorder.active
        if phase is not None and recorder is not None:
            recorder.span(_PHASE, phase, self.start_ns, end_ns, recorder.step)


def annotation_begin(name: str) -> Any:
    """Begin a region that ``annotation_end`` closes."""
    hook = SMProfiler.hook
    return None if hook is None else _Region(str(name), hook)


def annotation_end(handle: Any) -> None:
    """Close the region of ``annotation_begin``; None, as it gives while nothing records, is welcome."""
    if handle is not None:
        handle.end()


class annotate(ContextDecorator):
    """A named region, as a context manager or a decorator."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._open: list[tuple[int, _Region]] = []  # thread, region: one object may be open in several threads at once

    def _recreate_cm(self) -> annotate:
        return annotate(self.name)

    def __enter__(self) -> annotate:
        hook = SMProfiler.hook
        if hook is not None:
            self._open.append((get_ident(), _Region(self.name, hook)))
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        if not self._open:
            return
        here = get_ident()
        entry = next((e for e in reversed(self._open) if e[0] == here), None)
        if entry is not None:
            self._open.remove(entry)
            entry[1].end(complete=kind is None)


def main(arguments: list[str]) -> None:
    """``python -m stepscope.smprof SCRIPT ...``: run a script, for which ``smprof`` and ``smppy`` are this module."""
    if not arguments:
        raise SystemExit("usage: python -m stepscope.smprof SCRIPT [ARGUMENT ...]")
    from stepscope import smprof  # this file runs as __main__; the script is to get the module

    sys.modules["smprof"] = sys.modules["smppy"] = smprof
    sys.argv = arguments
    sys.path[0] = str(Path(arguments[0]).resolve().parent)
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
