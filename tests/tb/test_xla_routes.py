"""The routes of the XLA tab, without TensorBoard."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepscope_tensorboard import xla_routes
from stepscope_tensorboard.api import Api
from tests.hlo.runs import B_BYTES, DOT_BYTES, OUT_BYTES, PROGRAM, W_BYTES, X_BYTES, dense_program, write_dense_run
from tests.tables.build import training
from tests.tb.test_api import api_of, ask, get

WORKER = {"run": "x", "worker": "host.xplane.pb"}
DENSE = {**WORKER, "program": PROGRAM}
FIXED = X_BYTES + W_BYTES + B_BYTES + OUT_BYTES


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Api:
    folder = tmp_path_factory.mktemp("xla")
    write_dense_run(folder / "x")
    training().write(folder / "t" / "t.pt.trace.json")
    return api_of(folder)


def test_programs_with_their_time(api: Api) -> None:
    answer = get(api, "xla/programs", **WORKER)
    [program] = answer["programs"]
    assert (program["id"], program["name"], program["time_ns"]) == (str(PROGRAM), "jit_step", 80_000)
    assert (answer["why_empty"], answer["on_device"]) == (None, False)


def test_a_program_that_was_cut_says_so(api: Api, tmp_path: Path) -> None:
    for route, asked in (("memory", {}), ("graph", {}), ("text", {"computation": "main"})):
        assert get(api, f"xla/{route}", **DENSE, **asked)["damaged"] is False
    write_dense_run(tmp_path / "x", program=dense_program()[:-3])
    damaged = api_of(tmp_path)
    for route, asked in (("memory", {}), ("graph", {}), ("text", {"computation": "main"})):
        assert get(damaged, f"xla/{route}", **DENSE, **asked)["damaged"] is True


def test_a_run_without_programs_says_why(api: Api) -> None:
    answer = get(api, "xla/programs", run="t", worker="t.pt.trace.json")
    assert (answer["programs"], answer["why_empty"]) == ([], "no_hlo")


def test_memory_over_the_program(api: Api) -> None:
    answer = get(api, "xla/memory", **DENSE)
    assert answer["op"] == ["x", "w", "b", "dot.1", "add_maximum_fusion"]
    assert answer["level"] == [FIXED, FIXED, FIXED, FIXED + DOT_BYTES, FIXED + DOT_BYTES]
    assert (answer["peak"], answer["steps"], answer["is_told"]) == (3, 5, True)
    assert answer["memory"]["total_bytes"] == FIXED + DOT_BYTES + 64
    assert answer["memory"]["unused_bytes"] == 64


def test_a_long_program_is_drawn_with_its_peak(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xla_routes, "MAX_POINTS", 2)
    answer = get(api, "xla/memory", **DENSE)
    assert (len(answer["at"]), max(answer["level"]), answer["steps"]) == (2, FIXED + DOT_BYTES, 5)


def test_what_is_alive_adds_up(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = get(api, "xla/alive", **DENSE, at=3)
    assert [each["name"] for each in answer["buffers"]] == ["w", "add_maximum_fusion", "dot.1", "x", "b"]
    assert sum(each["size_bytes"] for each in answer["buffers"]) == answer["level"]
    temporary = answer["buffers"][2]
    assert (temporary["kind"], temporary["last_op"], temporary["op_name"]) == (
        "temporary",
        "add_maximum_fusion",
        "model/dense/MatMul",
    )
    monkeypatch.setattr(xla_routes, "MAX_BUFFERS", 1)
    answer = get(api, "xla/alive", **DENSE, at=3)
    assert (answer["count"], answer["rest_bytes"]) == (5, answer["level"] - W_BYTES)
    assert ask(api, "xla/alive", **DENSE, at=5).status == 404


def test_the_graph_begins_where_the_time_goes(api: Api) -> None:
    answer = get(api, "xla/graph", **DENSE, depth=1)
    assert answer["op"] == "dot.1"
    by_name = {node["op"]: node for node in answer["nodes"]}
    assert set(by_name) == {"x", "w", "dot.1", "add_maximum_fusion"}
    assert (by_name["dot.1"]["time_ns"], by_name["x"]["time_ns"], answer["program_ns"]) == (60_000, None, 80_000)
    assert by_name["dot.1"]["category"] == "matrix product"
    assert ["dot.1", "add_maximum_fusion", 0] in answer["edges"]
    assert answer["computation"]["is_entry"]


def test_a_fusion_is_opened(api: Api) -> None:
    answer = get(api, "xla/graph", **DENSE, op="add_maximum_fusion", depth=1, opened="add_maximum_fusion")
    assert {node["op"] for node in answer["nodes"] if node["within"] == "add_maximum_fusion"} >= {"sum", "relu"}


@pytest.mark.parametrize(("route", "asked"), [("graph", {"op": "none"}), ("text", {"computation": "none"})])
def test_what_a_program_does_not_have(api: Api, route: str, asked: dict[str, str]) -> None:
    assert ask(api, f"xla/{route}", **DENSE, **asked).status == 404
    assert ask(api, f"xla/{route}", **WORKER, program=99, **asked).status == 404


def test_the_text_of_a_computation(api: Api) -> None:
    answer = get(api, "xla/text", **DENSE, computation="main")
    assert (answer["count"], answer["lines"][3]["op"]) == (5, "dot.1")
    assert answer["lines"][3]["text"].startswith("%dot.1 = f32[64,256]{1,0} dot(%x, %w)")
    inner = get(api, "xla/text", **DENSE, computation="fused_computation", offset=6)
    assert [line["op"] for line in inner["lines"]] == ["relu"]
    assert inner["computation"]["callers"] == ["add_maximum_fusion"]


def test_instructions_are_found_by_name_operator_and_opcode(api: Api) -> None:
    def found(text: str) -> list[str]:
        return [row["op"] for row in get(api, "xla/find", **DENSE, text=text)["rows"]]

    assert found("DOT") == ["dot.1"]
    assert found("model/dense/biasadd") == ["sum", "bias"]
    assert found("maximum") == ["relu", "add_maximum_fusion"]
