"""Requests that wait for their batch, by the numbers of the summary."""

import pytest

from stepscope.rules import Case
from tests.rules.cases import found_in


def served(wait: float = 0.5, deep: int = 40, batches_per_s: float = 100, duration_ns: int = 2_000_000) -> Case:
    spread = dict.fromkeys(("mean", "p50", "p90", "p95", "p99", "min", "max"), duration_ns)
    parts = [("batch_wait", wait), ("batch", 1 - wait)]
    worker = {
        "inference": {
            "source": "annotation",
            "deep": deep,
            "latency_ns": spread | {"mean": 10_000_000},
            "parts": [{"part": name, "mean_ns": share * 10_000_000, "share": share} for name, share in parts],
            "batches": {
                "batches_per_s": batches_per_s,
                "duration_ns": spread,
                "wait_ns": spread,
                "padding_ratio": 0.25,
            },
        }
    }
    return Case(worker)


def test_batches_that_wait_for_requests():
    found = found_in(served())["batch_wait"]
    assert found.message == (
        "Requests spend 50.0 % of their time waiting for a batch, 5 ms each: batches wait for more requests."
    )
    assert found.evidence["batches_at_work"] == pytest.approx(100 * 2e-3)
    assert "batch_timeout_micros" in found.fix[0]
    assert "allowed_batch_sizes" in found.fix[1]


def test_batches_that_are_too_slow():
    found = found_in(served(batches_per_s=500))["batch_wait"]
    assert found.message.endswith("batches are at work all the time.")
    assert "num_batch_threads" in found.fix[0]


def test_too_little_of_it():
    assert "batch_wait" not in found_in(served(wait=0.29))
    assert "batch_wait" not in found_in(served(deep=19))
    assert "batch_wait" not in found_in(Case({"inference": None}))
