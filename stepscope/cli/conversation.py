"""Asks something of running workers, waits for what they say and prints it, one line a worker."""

from __future__ import annotations

import time

from stepscope.control import ACCEPTED, CAPTURE, DONE, FINAL, Request, Response, ask, responses, withdraw
from stepscope.report.format import printable
from stepscope.runs import Run

_LOOK_S = 0.2


def converse(run: Run, request: Request, timeout_s: float) -> int:
    """0 if a worker did it and none failed; 1 otherwise."""
    request_id = ask(run.path, request)
    told: set[tuple[str, str]] = set()
    deadline = time.monotonic() + timeout_s
    try:
        while True:
            said = responses(run.path, request_id, request.workers)
            for worker, response in said.items():
                if (worker, response.state) not in told:
                    told.add((worker, response.state))
                    print(printable(f"{worker}: {_sentence(request, response)}"), flush=True)
            final = [response for response in said.values() if response.state in FINAL]
            if len(final) == len(request.workers):
                break
            if time.monotonic() > deadline:
                for worker in request.workers:
                    if worker not in said or said[worker].state not in FINAL:
                        print(printable(f"{worker}: {_silence(said.get(worker), timeout_s)}"))
                break
            time.sleep(_LOOK_S)
    finally:
        withdraw(run.path, request_id)
    states = [response.state for response in final]
    # One worker a host samples the machine: the others rightly refuse another interval.
    enough = len(request.workers) if request.command == CAPTURE else 1
    return int(states.count(DONE) < enough)


def _sentence(request: Request, response: Response) -> str:
    if response.state == ACCEPTED:
        when = f"at step {response.first_step} or soon after" if response.first_step else "with the next step"
        return f"accepted; the window begins {when}"
    if response.state == DONE and response.window is not None:
        return f"window {response.window}, {request.steps} steps from step {response.first_step}"
    return f"{response.state}. {response.detail}" if response.detail else response.state


def _silence(said: Response | None, timeout_s: float) -> str:
    if said is not None:
        return f"the window is not there after {timeout_s:g} s; it will still come"
    return f"no answer in {timeout_s:g} s: its stepscope is older, or the process does not run"
