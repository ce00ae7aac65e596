"""The case of Keras' batch numbers under steps_per_execution, replayed through the counting of the callback."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from stepscope_tf.steps import logical_steps, split_evenly

CASE = Path(__file__).resolve().parents[3] / "shared" / "cases" / "C13_keras_step_ids"


@pytest.mark.skipif(not CASE.is_dir(), reason="the shared cases are not here")
def test_keras_step_ids():
    spec = json.loads((CASE / "expect.json").read_text())["spec"]
    calls = [json.loads(line) for line in (CASE / "calls.jsonl").read_text().splitlines()]
    steps = []
    executions = []
    for begin, end in pairwise(calls):
        if begin["call"] == "on_train_batch_begin":
            count = logical_steps(begin["batch"], end["batch"], spec["params"]["steps"])
            executions.append((count, end["t_ns"] - begin["t_ns"]))
            steps += split_evenly(begin["t_ns"], end["t_ns"], count)
    assert len(steps) == spec["logical_steps"] == spec["ids"]["last"] + 1
    assert len(executions) == spec["executions"]
    assert {end - begin for begin, end in steps} == {spec["step_ns"]}
    full, last = spec["execution_ns"]["full"], spec["execution_ns"]["last_of_epoch"]
    assert executions == ([(10, full)] * 10 + [(5, last)]) * 2
