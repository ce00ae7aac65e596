"""Two workers beside each other: identities, sums, names that only one has, and what cannot be compared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stepscope.cli import main
from stepscope.compare import Side, compare
from stepscope.compare.parts import divided
from stepscope.compare.warnings import warnings
from stepscope.runs import open_run
from stepscope.summary import analyse_worker, run_resources
from stepscope.summary.headline import memory_peak
from tests.builders import TraceBuilder
from tests.recorded import RecordedRun

MS = 1_000_000


def side(path: Path) -> Side:
    opened = open_run(path)
    worker = opened.workers[0]
    return Side(opened.name, analyse_worker(worker).summary, run_resources([worker]))


def traced(path: Path, steps: int, kernels: Sequence[tuple[str, int]], step_us: int = 10_000, **about: Any) -> Side:
    """Steps in which one operator of 2 ms launches kernels, of so many us, one after the other."""
    trace = TraceBuilder(**about)
    for i in range(steps):
        at = step_us * i
        trace.step(i, at, step_us).op("aten::linear", at + 100, 2000, external_id=i + 1)
        begin = at + 1000
        for k, (name, dur) in enumerate(kernels):
            correlation = 10 * i + k + 1
            trace.launch(at + 200 + 100 * k, 50, correlation, external_id=i + 1)
            trace.kernel(name, begin, dur, correlation=correlation, external_id=i + 1)
            begin += dur
    trace.write(path / "worker0.pt.trace.json")
    return side(path)


@pytest.fixture
def before(tmp_path: Path) -> Side:
    return traced(tmp_path / "before", 3, [("gemm", 3000), ("relu", 2000)])


@pytest.fixture
def after(tmp_path: Path) -> Side:
    return traced(tmp_path / "after", 2, [("gemm", 6000), ("gelu", 1000)], step_us=12_000)


def test_kernels_are_joined_by_name_as_time_of_a_step(before: Side, after: Side) -> None:
    found = compare(before, after)
    kernels = found["work"]["kernels"]
    rows = [(r["name"], r["status"], r["a_ns"], r["b_ns"], r["difference_ns"]) for r in kernels["rows"]]
    assert rows == [
        ("gemm", "both", 3 * MS, 6 * MS, 3 * MS),
        ("relu", "removed", 2 * MS, 0, -2 * MS),
        ("gelu", "added", 0, 1 * MS, 1 * MS),
    ]
    assert [r["accumulated_ns"] for r in kernels["rows"]] == [3 * MS, 1 * MS, 2 * MS]
    assert (kernels["added"], kernels["removed"], kernels["count"]) == (1, 1, 3)
    assert [(r["a_count"], r["b_count"]) for r in kernels["rows"]] == [(1, 1), (1, 0), (0, 1)]
    assert (kernels["a_ns"], kernels["b_ns"], kernels["difference_ns"]) == (5 * MS, 7 * MS, 2 * MS)
    (operator,) = found["work"]["operators"]["rows"]
    assert found["work"]["operators"]["basis"] == "device"
    assert (operator["a_ns"], operator["b_ns"]) == (5 * MS, 7 * MS)


def test_the_sentence_names_what_stands_out(before: Side, after: Side) -> None:
    found = compare(before, after)
    assert found["verdict"] == "slower"
    assert found["sentence"] == "B's step is 2 ms (20.0 %) slower than A's: 12.0 ms instead of 10.0 ms (median)"
    assert [(m["of"], m["name"], m["difference_ns"]) for m in found["mostly"]] == [
        ("activity", "kernel", 2 * MS),
        ("kernels", "gemm", 3 * MS),
    ]
    assert compare(after, before)["verdict"] == "faster"
    equal = compare(before, before)
    assert (equal["verdict"], equal["mostly"]) == ("equal", [])


def test_a_step_many_times_as_long_is_not_told_in_percent(before: Side, tmp_path: Path) -> None:
    found = compare(before, traced(tmp_path / "slow", 2, [("gemm", 6000)], step_us=125_000))
    told = "B's step is 115 ms slower than A's, 12.5 times as long: 125 ms instead of 10.0 ms (median)"
    assert found["sentence"] == told


def test_a_worker_beside_itself_differs_in_nothing(before: Side) -> None:
    found = compare(before, before)
    assert {q["difference"] for q in found["headline"]} <= {0, None}
    assert {q["ratio"] for q in found["headline"]} <= {1, None}
    rows = [r for part in found["parts"].values() for r in part["rows"]]
    rows += [r for table in found["work"].values() for r in table["rows"]]
    assert len(rows) > 5
    assert {r["difference_ns"] for r in rows} == {0}
    assert found["warnings"] == []


def test_swapped_every_difference_is_negated(before: Side, after: Side) -> None:
    one, other = compare(before, after), compare(after, before)
    for pair, swapped in zip(one["headline"], other["headline"], strict=True):
        assert (pair["a"], pair["b"]) == (swapped["b"], swapped["a"])
        assert pair["difference"] == (None if swapped["difference"] is None else -swapped["difference"])
    for table in one["work"]:
        negated = {r["name"]: -r["difference_ns"] for r in other["work"][table]["rows"]}
        assert {r["name"]: r["difference_ns"] for r in one["work"][table]["rows"]} == negated
        assert one["work"][table]["added"] == other["work"][table]["removed"]


def test_what_is_not_listed_is_counted(before: Side, after: Side) -> None:
    kernels = compare(before, after, most=1)["work"]["kernels"]
    assert [r["name"] for r in kernels["rows"]] == ["gemm"]
    assert kernels["rest"] == {"count": 2, "a_ns": 2 * MS, "b_ns": 1 * MS, "difference_ns": -1 * MS}
    assert kernels["rows"][0]["difference_ns"] + kernels["rest"]["difference_ns"] == kernels["difference_ns"]


def test_the_parts_sum_to_the_difference_of_the_step(before: Side, after: Side) -> None:
    activity = compare(before, after)["parts"]["activity"]
    assert (activity["a_ns"], activity["b_ns"]) == (10 * MS, 12 * MS)
    assert sum(r["difference_ns"] for r in activity["rows"]) == activity["difference_ns"] == 2 * MS


def test_a_phase_that_one_worker_lacks_is_in_other_of_both(tmp_path: Path) -> None:
    for name, spans in (("a", {"forward": (0, 40)}), ("b", {"input_wait": (0, 30), "forward": (30, 40)})):
        RecordedRun(tmp_path / name, phases=list(spans)).step(0, 0, 100, **spans).flush().end()
    parts = divided(side(tmp_path / "a"), side(tmp_path / "b"), "phase")
    assert "input_wait" in parts.in_other
    assert {p.name: (p.a_ns, p.b_ns) for p in parts.rows} == {"forward": (40_000, 40_000), "other": (60_000, 60_000)}
    assert parts.difference_ns == 0


def test_what_is_not_comparable_is_told(tmp_path: Path, before: Side) -> None:
    RecordedRun(tmp_path / "host", framework="tensorflow").step(0, 0, 100).flush().end()
    found = compare(before, side(tmp_path / "host"))
    assert {w["code"] for w in found["warnings"]} == {"framework", "devices", "no_deep_steps"}
    assert found["parts"]["activity"]["why"] == "B does not have a step captured in depth."
    assert found["work"]["kernels"]["why"] == "B does not have a kernel in a step captured in depth."
    assert found["work"]["kernels"]["rows"] == []
    pairs = {q["name"]: q for q in found["headline"]}
    assert pairs["gpu_busy"]["b"] is None
    assert pairs["gpu_busy"]["difference"] is None
    assert pairs["gpu_busy"]["why"].startswith("B does not have")
    assert pairs["step_p50"]["difference"] == 100_000 - 10 * MS
    assert side(tmp_path / "host").devices() == []
    assert replace(before, worker={**before.worker, "devices": []}).devices() == ["unnamed device"]  # of a bare trace


def test_a_list_of_modules_that_was_cut_is_told(before: Side, after: Side) -> None:
    cut = replace(after, worker={**after.worker, "modules": [{"path": []}, {"path": ["Net_0"]}], "modules_total": 3000})
    (told,) = (warning for warning in warnings(before, cut) if warning.code == "cut_modules")
    assert told.detail.startswith("B has 3,000 modules: the 1 largest")
    assert "cut_modules" not in {warning.code for warning in warnings(before, after)}


def test_what_belongs_to_no_module_is_a_row_and_no_name(before: Side, after: Side) -> None:
    def with_modules(side: Side, *paths: list[str]) -> Side:
        times = {f"{way}_device_self_ns": MS for way in ("forward", "backward")}
        return replace(side, worker={**side.worker, "modules": [{"path": p, "calls": 1, **times} for p in paths]})

    found = compare(with_modules(before, ["Net_0"], []), with_modules(after, ["Net_0"], ["Head_0"], []))
    modules = found["work"]["modules"]
    assert {row["name"] for row in modules["rows"]} == {"Net_0", "Head_0", "(no module)"}
    assert (modules["count"], modules["added"], modules["removed"]) == (2, 1, 0)


def test_the_command_prints_what_is_computed(
    tmp_path: Path, before: Side, after: Side, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(tmp_path / "before"), str(tmp_path / "after")]
    assert main(["compare", *paths, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == compare(before, after)
    assert main(["compare", *paths]) == 0
    text = capsys.readouterr().out
    assert "B's step is 2 ms (20.0 %) slower than A's" in text
    assert "mostly kernel +2 ms, gemm +3 ms" in text
    assert main(["compare", *paths, "--worker-b", "7"]) == 2
    assert "no worker of this run has the name or rank 7" in capsys.readouterr().err


def test_where_kernels_were_replaced_the_sentence_names_the_operator(tmp_path: Path) -> None:
    a = traced(tmp_path / "a", 2, [("sgemm", 6000)])
    b = traced(tmp_path / "b", 2, [("hgemm", 2000)], step_us=6000)
    named = compare(a, b)["mostly"][-1]
    assert (named["of"], named["name"], named["difference_ns"]) == ("operators", "aten::linear", -4 * MS)


def test_each_level_of_the_module_tree_sums_to_what_it_is_a_part_of(tmp_path: Path) -> None:
    def nested(name: str, inner_us: int, extra: bool) -> Side:
        trace = TraceBuilder().step(0, 0, 1000).op("aten::a", 10, 30)
        trace.python("nn.Module: Net_0", 100, 500).op("aten::b", 110, 20)
        trace.python("nn.Module: Block_0", 200, 200).op("aten::c", 210, 10)
        trace.python("nn.Module: Linear_0", 230, inner_us).op("aten::d", 231, inner_us - 2)
        if extra:
            trace.python("nn.Module: Head_0", 450, 100).op("aten::e", 451, 50)
        trace.write(tmp_path / name / "worker0.pt.trace.json")
        return side(tmp_path / name)

    found = compare(nested("a", 50, False), nested("b", 90, True))
    nodes = found["module_tree"]
    assert [(n["name"], n["parent"]) for n in nodes] == [
        ("", None),
        ("Net_0", 0),
        ("Block_0", 1),
        ("Linear_0", 2),
        ("Head_0", 1),
    ]
    assert [n["status"] for n in nodes] == ["both", "both", "both", "both", "added"]
    for i, node in enumerate(nodes):
        parts = [one for one in nodes if one["parent"] == i]
        for key in ("a", "b"):
            assert node[f"{key}_ns"] == node[f"{key}_self_ns"] + sum(one[f"{key}_ns"] for one in parts)
        whole = node["self_difference_ns"] + sum(one["difference_ns"] for one in parts)
        assert node["difference_ns"] == node["b_ns"] - node["a_ns"] == whole
    modules = found["work"]["modules"]
    assert (modules["count"], modules["added"], modules["removed"]) == (4, 1, 0)
    assert [nodes[0][key] for key in ("a_ns", "b_ns")] == [modules["a_ns"], modules["b_ns"]]
    assert [n["self_difference_ns"] for n in nodes[2:]] == [-40_000, 40_000, 100_000]
    assert compare(nested("a", 50, False), traced(tmp_path / "c", 1, [("gemm", 100)]))["module_tree"] == []


def test_the_peak_of_memory_is_what_was_allocated_as_on_the_summary() -> None:
    allocators = [
        {"device": None, "peak_bytes": 99, "peak_reserved_bytes": None},
        {"device": 0, "peak_bytes": 5, "peak_reserved_bytes": 8},
        {"device": 1, "peak_bytes": 6, "peak_reserved_bytes": 7},
    ]
    assert memory_peak(allocators, {"gpu_memory_used": {"max": 20.0}}) == 6
    assert memory_peak(allocators[:1], {"gpu_memory_used": {"max": 20.0}}) == 20
    assert memory_peak(None, {}) is None


def test_what_collectives_on_the_host_exposed_is_not_known(tmp_path: Path, before: Side) -> None:
    made = TraceBuilder(rank=0).step(0, 0, 100).op("aten::mm", 10, 50).annotation("gloo:all_reduce", 20, 30, tid=9)
    made.write(tmp_path / "gloo" / "worker0.pt.trace.json")
    exposed = {q["name"]: q for q in compare(before, side(tmp_path / "gloo"))["headline"]}["exposed_communication"]
    assert (exposed["a"], exposed["b"]) == (0, None)
    assert exposed["why"].startswith(
        "B does not have a step captured in depth whose collectives, if any, ran on a device"
    )
