"""The plugin inside a real TensorBoard, over HTTP."""

from __future__ import annotations

import gzip
import http.client
import json
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

pytest.importorskip("tensorboard")

from tests.builders import TraceBuilder
from tests.recorded import RecordedRun
from tests.tensorboard_server import tensorboard

PLUGIN = "/data/plugin/stepscope"
ODD_NAME = "<img src=x onerror=alert(1)> a%2Fb"


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def request(address: str, path: str, method: str = "GET", headers: dict[str, str] | None = None) -> Reply:
    """One request for exactly ``path`` behind the address: nothing in it is tidied up on the way."""
    parts = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(parts.netloc, timeout=180)
    try:
        connection.request(method, parts.path + path, headers=headers or {})
        response = connection.getresponse()
        return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


def ask(address: str, route: str, **query: Any) -> Reply:
    """A route of the plugin; asks again while a file is being imported."""
    path = f"{PLUGIN}/{route}?{urllib.parse.urlencode(query)}"
    for _ in range(1800):  # an import runs at low priority
        reply = request(address, path)
        if reply.status != 202:
            return reply
        time.sleep(0.1)
    raise AssertionError("the import does not end")


def fill(logdir: Path) -> None:
    for name in ("exp1", ODD_NAME):
        run = RecordedRun(logdir / name).step(0, 0, 100, forward=(0, 60)).flush()
        run.window(TraceBuilder().step(0, 0, 100).op("aten::mm", 10, 50)).end()
    TraceBuilder().step(5, 0, 100).kernel("gemm", 20, 60).write(logdir / "traces" / "t.pt.trace.json.gz", gzip=True)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    logdir = tmp_path_factory.mktemp("logs")
    fill(logdir)
    with tensorboard("--logdir", str(logdir)) as address:
        yield address


def test_the_tab_is_listed_and_active(address: str) -> None:
    plugin = request(address, "/data/plugins_listing").json["stepscope"]
    assert (plugin["enabled"], plugin["tab_name"], plugin["disable_reload"]) == (True, "Stepscope", False)
    module = "/data/plugin/stepscope/index.js"
    assert plugin["loading_mechanism"] == {"type": "IFRAME", "module_path": module}


def test_every_route_answers(address: str) -> None:
    runs = ask(address, "runs").json["runs"]
    assert sorted(run["id"] for run in runs) == sorted(["exp1", ODD_NAME, "traces"])
    for run in runs:
        at = {"run": run["id"], "worker": run["workers"][0]["id"]}
        summary = ask(address, "summary", **at)
        assert summary.status == 200, summary.body
        assert summary.json["worker"]["step_count"] == 1
        assert ask(address, "steps", **at).json["duration"] == [100_000]
        assert ask(address, "resources", **at).json["series"] == []
        tree = ask(address, "timeline/tree", **at).json
        lanes = ",".join(str(lane["id"]) for lane in tree["lanes"])
        view = ask(address, "timeline/view", t0=tree["t0"], t1=tree["t1"], px=500, lanes=lanes, **at)
        assert view.headers["content-type"] == "application/vnd.apache.arrow.stream"
        rows = pa.ipc.open_stream(view.body).read_all().to_pylist()
        assert len(rows) == sum(lane["events"] for lane in tree["lanes"])
        name = rows[-1]["name"]
        assert ask(address, "timeline/find", name=name, **at).json["count"] >= 1
        assert ask(address, "timeline/slice", row=rows[-1]["row"], **at).json["name"] == name


def test_the_page_is_served_with_its_types(address: str) -> None:
    module = request(address, f"{PLUGIN}/index.js")
    assert (module.status, module.headers["content-type"]) == (200, "text/javascript; charset=utf-8")
    assert b"render" in module.body
    frame = request(address, "/data/plugin_entry.html?name=stepscope")
    assert frame.status == 200
    assert b"index.js" in frame.body


def test_answers_say_what_they_are_and_are_not_guessed_at(address: str) -> None:
    for path in (f"{PLUGIN}/runs", f"{PLUGIN}/index.js", f"{PLUGIN}/nothing", f"{PLUGIN}/summary"):
        reply = request(address, path)
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["cache-control"] in ("no-cache", "no-store")


def test_an_unchanged_answer_is_not_sent_again(address: str) -> None:
    path = f"{PLUGIN}/timeline/tree?run=exp1&worker=0-node1-4117"
    first = request(address, path)
    again = request(address, path, headers={"If-None-Match": first.headers["etag"]})
    assert (first.status, again.status, again.body) == (200, 304, b"")
    assert again.headers["etag"] == first.headers["etag"]


def test_long_json_is_compressed_for_who_takes_it(address: str) -> None:
    module = request(address, f"{PLUGIN}/index.js", headers={"Accept-Encoding": "gzip"})
    if "content-encoding" in module.headers:  # the built page; the sentence that stands in for it is short
        assert gzip.decompress(module.body) == request(address, f"{PLUGIN}/index.js").body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_but_reading(address: str, method: str) -> None:
    for path in ("runs", "index.js", "summary?run=exp1&worker=0-node1-4117"):
        reply = request(address, f"{PLUGIN}/{path}", method)
        assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD")
    assert request(address, f"{PLUGIN}/runs", "HEAD").body == b""


@pytest.mark.parametrize(
    "path",
    [
        "../plugin.py",
        "..%2fplugin.py",
        "%2e%2e/plugin.py",
        "static/../../plugin.py",
        "..\\plugin.py",
        "/etc/passwd",
        "%2Fetc%2Fpasswd",
        ".sources.sha256",
        "index.js%00.txt",
        "summary/../index.js/x",
    ],
)
def test_no_path_leads_out_of_the_listing(address: str, path: str) -> None:
    reply = request(address, f"{PLUGIN}/{path}")
    assert reply.status == 404
    assert b"import" not in reply.body
    assert b"root:" not in reply.body


def test_errors_are_sentences(address: str) -> None:
    assert ask(address, "summary").json == {"error": "The parameter run is missing."}
    unknown = ask(address, "summary", run="../exp1", worker="0-node1-4117")
    assert unknown.status == 404
    assert unknown.json["error"].startswith("There is no run '../exp1'")


def test_named_log_directories_behind_a_path_prefix(tmp_path: Path) -> None:
    fill(tmp_path / "logs")
    spec = f"team:{tmp_path / 'logs'},none:{tmp_path / 'missing'}"
    with tensorboard("--logdir_spec", spec, "--path_prefix", "/some/proxy") as address:
        assert address.endswith("/some/proxy")
        runs = ask(address, "runs").json["runs"]
        assert sorted(run["id"] for run in runs) == sorted(f"team/{name}" for name in ("exp1", ODD_NAME, "traces"))
        assert ask(address, "steps", run="team/exp1", worker="0-node1-4117").json["count"] == 1
        assert request(address, f"{PLUGIN}/index.js").status == 200
        assert request(address, f"{PLUGIN}/nothing").status == 404
        # TensorBoard's own way to serve several experiments puts one more path before the plugin's.
        assert request(address, f"/experiment/defaultExperimentId{PLUGIN}/runs").json["runs"] == runs
