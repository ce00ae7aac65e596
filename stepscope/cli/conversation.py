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
    told: set[tuple[str, str, str]] = set()
    deadline = time.monotonic() + timeout_s
    try:
        while True:
            said = responses(run.path, request_id, request.workers)
            for worker, response in said.items():
                if (worker, response.state, response.detail) not in told:
                    told.add((worker, response.state, response.detail))
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
    if len({(response.first_step, response.steps) for response in final if response.window is not None}) > 1:
        print("These are not the same steps in all workers.")
    states = [response.state for response in final]
    # One worker a host samples the machine: the others rightly refuse another interval.
    enough = len(request.workers) if request.command == CAPTURE else 1
    return int(states.count(DONE) < enough)


def _sentence(request: Request, response: Response) -> str:
    detail = f". {response.detail}" if response.detail else ""
    if response.state == ACCEPTED:
        when = f"at step {response.first_step} or soon after" if response.first_step else "with the next step"
        return f"accepted; the window begins {when}{detail}"
    if response.state == DONE and response.window is not None:
        count = request.steps if response.steps in (None, request.steps) else f"{response.steps} of {request.steps}"
        return f"window {response.window}, {count} steps from step {response.first_step}{detail}"
    return f"{response.state}{detail}"


def _silence(said: Response | None, timeout_s: float) -> str:
    if said is not None:
        return f"the window is not there after {timeout_s:g} s; it will still come"
    return f"no answer in {timeout_s:g} s: its stepscope is older, or the process does not run"
