"""The corpus of odd and damaged traces beside the repository, through the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared"
CASES = SHARED / "cases"

pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="no ../shared/cases here")


def test_every_case_passes():
    command = f"{sys.executable} -m stepscope"
    done = subprocess.run(
        [sys.executable, CASES / "check.py", "--command", command, CASES], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 failed" in done.stdout.splitlines()[-1]


def test_a_generated_run_shows_its_exact_totals(tmp_path):
    size = ("--events", "20000", "--ranks", "2", "--layers", "4", "--stack-depth", "300", "--thread-names", "50")
    subprocess.run([sys.executable, CASES / "generate_scale.py", *size, "--out", tmp_path], check=True)
    from stepscope.runs import open_run
    from stepscope.summary import summarize

    workers = {w["rank"]: w for w in summarize(open_run(tmp_path / "run"))["workers"]}
    totals = json.loads((tmp_path / "totals.json").read_text())["workers"]
    assert len(totals) == len(workers) == 2
    for expected in totals:
        found = workers[expected["rank"]]
        fields = ("kind", "count", "total_ns", "min_ns", "max_ns")
        assert {k["name"]: {f: k[f] for f in fields} for k in found["kernels"]} == expected["kernels"]
        copies = {d: {f: c[f] for f in ("count", "bytes", "time_ns")} for d, c in found["memcpy"].items()}
        assert copies == expected["memcpy"]
        calls = expected["launches"]
        assert found["launches"]["count"] == calls["kernel_launches"] + calls["copy_calls"]
        assert found["launches"]["linked"] == found["launches"]["count"]
        assert found["timeline_ns"]["total"] == expected["device_window_ns"]
        assert found["gpu"][0]["busy_ns"] == expected["busy_ns"]
        ops = {o["name"]: {f: o[f] for f in ("count", "host_total_ns")} for o in found["operators"]}
        assert {name: ops[name] for name in expected["operators"]} == expected["operators"]
        first = found["steps"][0]["start_ns"]
        assert [
            {
                "id": s["id"],
                "start_offset_ns": s["start_ns"] - first,
                "host_ns": s["host_ns"],
                "duration_ns": s["duration_ns"],
                "kernel_ns": s["activity_ns"]["kernel"],
                "exposed_communication_ns": s["activity_ns"]["communication"],
            }
            for s in found["steps"]
        ] == [{k: v for k, v in s.items() if k != "busy_ns"} for s in expected["steps"]]
        assert all(sum(s["activity_ns"].values()) == s["duration_ns"] for s in found["steps"])
        assert found["quality"] == []
