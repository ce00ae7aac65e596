"""A loop that serves requests: steps where it marks them, a deep window, and the parts of the requests in it."""

import torch

import stepscope
from stepscope.runs import open_run
from stepscope.summary import summarize_worker
from stepscope_torch import Schedule
from tests.torch.training import SIZE, make_model, profiler

ROUNDS = 10


def test_steps_and_requests_of_a_loop_that_serves(tmp_path):
    model = make_model().eval()
    with profiler(tmp_path / "run", model, schedule=Schedule(skip_first=4, active=2)) as prof, torch.inference_mode():
        for i in range(ROUNDS):
            with stepscope.annotate(f"request {i}"):
                model(torch.ones(4, SIZE)).sum().item()
            prof.step()
    (worker,) = open_run(tmp_path / "run").workers
    found = summarize_worker(worker)
    assert len(found["steps"]) == ROUNDS
    assert all(step["phase_ns"]["forward"] > 0 for step in found["steps"])
    assert found["coverage"]["deep_steps"] == 2
    served = found["inference"]
    assert (served["source"], served["count"], served["deep"]) == ("annotation", ROUNDS, 2)
    assert {part["part"] for part in served["parts"] if part["mean_ns"] > 0} == {"host"}
