"""The routes of the tables, without TensorBoard."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from stepscope.schema import Kind
from stepscope_tensorboard.answers import Answer
from stepscope_tensorboard.api import Api
from tests.builders import TraceBuilder
from tests.hlo.recording import cpu_planes
from tests.importers.xspace import xspace
from tests.recorded import RecordedRun
from tests.tables.build import training
from tests.tb.test_api import api_of, ask, get

WORKER = {"run": "t", "worker": "t.pt.trace.json"}


@pytest.fixture
def api(tmp_path: Path) -> Api:
    training().write(tmp_path / "t" / "t.pt.trace.json")
    return api_of(tmp_path)


def values(answer: dict[str, Any], key: str) -> list[Any]:
    """A column; texts as texts."""
    unit = next(c["unit"] for c in answer["columns"] if c["key"] == key)
    found = answer["values"][key]
    return [None if v is None else answer["texts"][v] for v in found] if unit in ("text", "word") else found


def test_a_page_of_rows(api: Api) -> None:
    page = get(api, "tables/rows", **WORKER, table="kernels", by="none", limit=2, offset=4)
    assert (page["count"], page["total"], page["occurrences"], page["offset"]) == (6, 6, 6, 4)
    assert values(page, "name") == ["relu", "relu"]
    assert values(page, "dur_ns") == [10_000, 10_000]
    assert len(page["id"]) == 2
    assert page["sort"] == "dur_ns"
    assert get(api, "tables/rows", **WORKER, table="kernels", offset=10_000)["id"] == []


def test_pages_make_up_the_table(api: Api) -> None:
    whole = get(api, "tables/rows", **WORKER, table="operators", by="none")["id"]
    asked = {**WORKER, "table": "operators", "by": "none", "limit": 1}
    assert [get(api, "tables/rows", **asked, offset=i)["id"][0] for i in range(4)] == whole


def test_operations_of_xla(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "host.xplane.pb").write_bytes(xspace(*cpu_planes()))
    api, worker = api_of(tmp_path), {"run": "t", "worker": "host.xplane.pb"}
    page = get(api, "tables/rows", **worker, table="hlo")
    assert values(page, "name") == ["dot.1", "add_maximum_fusion", "while.1", "add.1", "lost"]
    tree = get(api, "tables/rows", **worker, table="hlo_profile", by="framework", levels=1)
    assert values(tree, "name")[:4] == ["jit_step (7)", "model", "jit_loop (8)", "(no framework operator told)"]
    assert all(c["about"].endswith(".") for c in (*page["columns"], *tree["columns"]))
    assert tree["depth"][:4] == [0, 1, 0, 1]
    points = get(api, "tables/roofline", **worker, points=1)
    assert (points["name"], points["id"], points["count"]) == (["dot.1"], page["id"][:1], 3)
    found = get(api, "tables/details", **worker, table="hlo", id=points["id"][0])
    assert (found["values"]["flops"], found["count"]) == (2 * 2 * 64 * 256 * 128, 2)


def test_every_column_has_a_definition(api: Api) -> None:
    for table in ("kernels", "operators", "modules", "memory", "launches", "annotations"):
        groupings = [g["key"] for g in get(api, "tables/rows", **WORKER, table=table)["groupings"]]
        for by in (*groupings, "none"):
            page = get(api, "tables/rows", **WORKER, table=table, by=by)
            assert all(c["about"].endswith(".") and c["label"] for c in page["columns"])
            assert page["name"] in {c["key"] for c in page["columns"]}
            assert page["why_empty"] is None


def test_filters_and_order(api: Api) -> None:
    single = {**WORKER, "table": "kernels", "by": "none"}
    asked = {"text": "^hmma", "regex": 1, "bounds": "dur_ns::20000", "sort": "start_ns", "ascending": 1}
    page = get(api, "tables/rows", **single, **asked)
    assert (page["count"], values(page, "start_ns")) == (2, [80_000, 230_000])
    group = get(api, "tables/rows", **WORKER, table="kernels", text="relu")["id"][0]
    page = get(api, "tables/rows", **single, within=f"name:{group}")
    assert values(page, "name") == ["relu", "relu"]


def test_the_tree_of_modules(api: Api) -> None:
    page = get(api, "tables/rows", **WORKER, table="modules", levels=1)
    assert values(page, "name") == ["Net_0", "Linear_0", "Linear_1", None]
    assert (page["depth"], page["has_children"]) == ([0, 1, 1, 0], [True, False, False, False])
    closed = get(api, "tables/rows", **WORKER, table="modules", levels=1, toggled=page["id"][0])
    assert values(closed, "name") == ["Net_0", None]


def test_a_long_name_is_cut_in_a_page_and_whole_in_the_details(tmp_path: Path) -> None:
    name = "k" * 4000
    TraceBuilder().kernel(name, 0, 10).write(tmp_path / "t" / "t.pt.trace.json")
    api = api_of(tmp_path)
    page = get(api, "tables/rows", **WORKER, table="kernels")
    assert len(values(page, "name")[0]) < 2000
    assert get(api, "tables/details", **WORKER, table="kernels", id=page["id"][0])["values"]["name"] == name


def test_what_one_row_stands_for(api: Api) -> None:
    page = get(api, "tables/rows", **WORKER, table="kernels")
    id = page["id"][values(page, "name").index("hmma_gemm")]
    first = get(api, "tables/details", **WORKER, table="kernels", id=id)
    assert (first["count"], first["at"], first["occurrence"]["start"], first["occurrence"]["dur"]) == (
        4,
        0,
        80_000,
        20_000,
    )
    slowest = get(api, "tables/details", **WORKER, table="kernels", id=id, at="slowest")
    assert (slowest["at"], slowest["occurrence"]["dur"], slowest["time_ns"]["max"]) == (2, 40_000, 40_000)
    last = get(api, "tables/details", **WORKER, table="kernels", id=id, at=99)
    assert last["at"] == 3
    slice = get(api, "timeline/slice", **WORKER, row=last["occurrence"]["row"])
    assert (slice["name"], slice["start"]) == ("hmma_gemm", last["occurrence"]["start"])
    assert get(api, "tables/details", 404, **WORKER, table="kernels", id=10**6)["error"]


def disposition(answer: Answer) -> str:
    return answer.headers["Content-Disposition"].partition("filename=")[2].strip('"')


def test_files(api: Api) -> None:
    asked = {**WORKER, "table": "kernels", "columns": "name,total_ns", "text": "gemm"}
    answer = ask(api, "tables/export", **asked, to="csv")
    assert disposition(answer) == "t_t.pt.trace.json_kernels_by-name.csv"
    assert list(csv.reader(io.StringIO(answer.body.decode()))) == [["name", "total_ns"], ["hmma_gemm", "120000"]]
    answer = ask(api, "tables/export", **asked, to="parquet")
    assert disposition(answer).endswith(".parquet")
    assert pq.read_table(io.BytesIO(answer.body)).to_pylist() == [{"name": "hmma_gemm", "total_ns": 120_000}]


def test_launches_over_time(api: Api) -> None:
    answer = get(api, "tables/launches", **WORKER)
    assert (answer["count"], answer["linked"], answer["without_run"]) == (9, 8, 1)
    assert answer["launches"]["count"] == len(answer["launches"]["t"]) == 8
    assert [queue["name"] for queue in answer["queues"]] == ["GPU 0, stream 7", "GPU 0, stream 9"]
    summary = get(api, "summary", **WORKER)["worker"]["launches"]
    assert sorted(answer["launches"]["latency"])[-1] == summary["latency_ns"]["max"]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"table": "x"}, "table must be one of"),
        ({"table": "kernels", "by": "module path"}, "by must be one of"),
        ({"table": "kernels", "sort": "x"}, "no column 'x'"),
        ({"table": "kernels", "bounds": "total_ns"}, "must look like"),
        ({"table": "kernels", "bounds": "total_ns:a:"}, "must look like"),
        ({"table": "kernels", "bounds": "name:1:"}, "no column of numbers"),
        ({"table": "kernels", "text": "(", "regex": 1}, "no regular expression"),
        ({"table": "kernels", "text": "x" * 501}, "at most 500"),
        ({"table": "kernels", "by": "none", "within": "name"}, "must look like"),
        ({"table": "kernels", "by": "none", "within": "x:1"}, "cannot be grouped"),
        ({"table": "kernels", "by": "none", "within": "name:9"}, "no such group"),
        ({"table": "kernels", "limit": 501}, "between 1 and 500"),
    ],
)
def test_what_is_asked_wrongly_is_one_sentence(api: Api, query: dict[str, Any], sentence: str) -> None:
    error = get(api, "tables/rows", 400, **WORKER, **query)["error"]
    assert sentence in error
    assert error.endswith(".")


def test_new_data_of_a_running_job_is_seen_and_other_tables_stay(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "t").step(0, 0, 100).span(Kind.ANNOTATION, "augment", 10, 5, 0)
    run.window(training()).flush()
    api = api_of(tmp_path)
    worker = {"run": "t", "worker": "0-node1-4117"}
    kernels = ask(api, "tables/rows", **worker, table="kernels")
    assert values(get(api, "tables/rows", **worker, table="annotations", text="augment"), "count") == [1]
    run.span(Kind.ANNOTATION, "augment", 110, 5, 1).flush()
    assert values(get(api, "tables/rows", **worker, table="annotations", text="augment"), "count") == [2]
    query = {k: str(v) for k, v in {**worker, "table": "kernels"}.items()}
    assert api.answer("tables/rows", query, kernels.etag).status == 304
    run.window(TraceBuilder().step(2, 3000, 100).kernel("late", 3010, 5))
    assert "late" in json.loads(ask(api, "tables/rows", **worker, table="kernels").body)["texts"]
