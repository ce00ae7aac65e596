"""A session of torch's profiler that is ours, for all that this torch and this machine can trace."""

from __future__ import annotations

import json
import logging
from typing import Any

import torch
from torch.profiler import ProfilerActivity

from stepscope_torch.sessions import Sessions

log = logging.getLogger("stepscope")


def activities() -> list[Any]:
    """The CPU, and the accelerators that this build can trace and this machine has."""
    found: list[Any] = [ProfilerActivity.CPU]
    supported = torch.profiler.supported_activities()
    for activity, is_available in (("CUDA", torch.cuda.is_available), ("XPU", lambda: torch.xpu.is_available())):
        member = getattr(ProfilerActivity, activity, None)
        if member in supported and is_available():
            found.append(member)
    return found


def only_a_trace() -> Any:
    """What spares the profiler making objects of its events, 40 % of stopping it; None before torch 2.13."""
    try:
        return torch._C._profiler._ExperimentalConfig(trace_only=True)
    except (AttributeError, TypeError):
        return None


def count_events(profile: Any) -> int:
    """How many events a stopped profiler holds, at 0.6 us an event; 0 where this torch does not tell."""
    try:
        return len(profile.profiler.kineto_results.events())
    except AttributeError:
        return 0


def stop(profile: Any, sessions: Sessions, about: dict[str, Any]) -> None:
    """Stop a profiler that runs; ``about`` goes into its trace."""
    profile.add_metadata_json("stepscope", json.dumps(about))
    with sessions.own():
        profile.stop()


def release(profile: Any) -> None:
    """Free the events of a stopped profiler now, at 0.4 us each.

    It refers to itself: otherwise Python's garbage collector would do that, in the midst of some later step.
    """
    profile.profiler = None


def stop_rest(profile: Any, sessions: Sessions) -> None:
    """Stop what may still run of a profiler after an exception came while it was started or stopped."""
    if not torch.autograd.profiler._is_profiler_enabled:
        return
    try:
        with sessions.own():
            profile.stop()
    except Exception:
        log.debug("the profiler could not be stopped", exc_info=True)
        say_none_runs()  # an interrupt in its stop comes after C++ has stopped and before torch has noted that


def say_none_runs() -> None:
    """Torch's flag of a profiler that ended without torch."""
    torch.autograd.profiler._is_profiler_enabled = False
