"""Captures that the page asks for: by whom they may be, and what becomes of them, inside a real TensorBoard."""

from __future__ import annotations

import http.client
import json
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("tensorboard")

from stepscope.control import control_folder
from stepscope.controlled import Capture, Control, Handlers
from tests.builders import T0_NS, TraceBuilder
from tests.recorded import RecordedRun
from tests.tensorboard_server import tensorboard
from tests.until import wait_until

ROUTE = "/data/plugin/stepscope/control"


class Server:
    """A TensorBoard on a run of two ranks that live, and one that ended."""

    def __init__(self, address: str, logdir: Path) -> None:
        self.parts = urllib.parse.urlsplit(address)
        self.run = logdir / "exp1"
        self.ended = RecordedRun(logdir / "old").step(0, 0, 100).end()

    def ask(self, method: str, route: str, body: object = None, **headers: str) -> tuple[int, dict]:
        connection = http.client.HTTPConnection(self.parts.netloc, timeout=180)
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        path = f"{ROUTE}/{route}".replace("control/../", "")
        connection.request(method, path, data, {k.replace("_", "-"): v for k, v in headers.items()})
        response = connection.getresponse()
        answer = response.status, json.loads(response.read())
        connection.close()
        return answer

    @property
    def own(self) -> dict[str, str]:
        """What a page of this server sends."""
        token = self.ask("GET", "token")[1]["token"]
        return {"Origin": f"http://{self.parts.netloc}", "X_Stepscope_Token": token}

    def workers(self) -> list[str]:
        runs = self.ask("GET", "../runs")[1]["runs"]
        return [worker["id"] for run in runs for worker in run["workers"]]

    def requests(self) -> list[str]:
        folder = control_folder(self.run)
        return [path.name for path in folder.iterdir() if "request" in path.name] if folder.exists() else []


BODY = {"run": "exp1", "worker": None, "steps": 3}


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def server(logdir: Path) -> Iterator[Server]:
    RecordedRun(logdir / "exp1")
    with tensorboard("--logdir", str(logdir)) as address:
        yield Server(address, logdir)


@pytest.fixture
def job(server: Server, logdir: Path) -> RecordedRun:
    """One that lives, and that the server has noticed; each test has its own."""
    job = RecordedRun(logdir / "exp1", pid=time.time_ns() % 4_000_000).step(7, 0, 100).flush().alive()
    wait_until(lambda: job.folder.id in server.workers())
    return job


def poll(job: RecordedRun) -> Capture:
    """The job looks for requests, and takes one."""
    taken: list[Capture] = []
    handlers = Handlers(lambda capture: taken.append(capture), lambda ms: None, lambda: None)
    job.control = Control(job.path, job.folder.id, handlers)
    job.control.poll()
    (capture,) = taken
    return capture


def test_a_capture_from_the_page_to_the_window(server: Server, job: RecordedRun) -> None:
    status, asked = server.ask("POST", "capture", {**BODY, "worker": job.folder.id, "steps": 5}, **server.own)
    assert (status, asked["workers"]) == (200, [job.folder.id])
    at = f"status?run=exp1&request={asked['request']}"
    assert server.ask("GET", at) == (200, {"workers": []})
    capture = poll(job)
    assert capture.steps == 5
    (told,) = server.ask("GET", at)[1]["workers"]
    assert told["state"] == "accepted"
    job.window(TraceBuilder().step(8, 100, 100).step(9, 200, 100))

    class Converted:
        running, folder, error = False, job.folder.windows()[-1], staticmethod(lambda: None)

    capture.recorded(range(8, 10), Converted)
    job.control.poll()
    (told,) = server.ask("GET", at)[1]["workers"]
    assert (told["state"], told["window"], told["first_step"], told["steps"]) == ("done", "000001", 8, 2)
    assert (told["start_ns"], told["duration_ns"]) == (str(T0_NS + 100_000), 200_000)


@pytest.mark.parametrize("every_worker", [False, True])
def test_another_sampling_interval(server: Server, job: RecordedRun, every_worker: bool) -> None:
    asked: list[int] = []
    body = {"run": "exp1", "worker": None if every_worker else job.folder.id, "interval_ms": 5000}
    status, answer = server.ask("POST", "interval", body, **server.own)
    assert (status, answer["interval_ms"]) == (200, 5000)
    assert job.folder.id in answer["workers"]
    assert every_worker or len(answer["workers"]) == 1
    Control(job.path, job.folder.id, Handlers(lambda capture: None, asked.append, lambda: None)).poll()
    assert asked == [5000]
    (told,) = server.ask("GET", f"status?run=exp1&request={answer['request']}")[1]["workers"]
    assert (told["worker"], told["state"]) == (job.folder.id, "done")


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"interval_ms": 250}, 400),
        ({"interval_ms": True}, 400),
        ({"worker": 1}, 400),
        ({"worker": "../../x"}, 409),
        ({"run": "old"}, 409),
    ],
    ids=repr,
)
def test_intervals_that_make_no_sense(server: Server, job: RecordedRun, change: dict, status: int) -> None:
    before = server.requests()
    body = {"run": "exp1", "worker": job.folder.id, "interval_ms": 5000, **change}
    assert server.ask("POST", "interval", body, **server.own)[0] == status
    assert server.requests() == before


@pytest.mark.parametrize(
    "change",
    [
        {"X_Stepscope_Token": ""},
        {"X_Stepscope_Token": "guessed"},
        {"X_Stepscope_Token": "\u00e9"},
        {"Origin": ""},
        {"Origin": "null"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://["},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "none"},
    ],
    ids=str,
)
def test_who_may_not_ask(server: Server, job: RecordedRun, change: dict[str, str]) -> None:
    before = server.requests()
    at = {"run": "exp1", "worker": job.folder.id}
    for route, body in (("capture", BODY), ("interval", {**at, "interval_ms": 100})):
        status, answer = server.ask("POST", route, body, **{**server.own, **change})
        assert status == 403
        assert answer["error"].endswith(".")
    assert server.requests() == before


def test_a_proxy_that_names_another_host_is_no_obstacle(server: Server, job: RecordedRun) -> None:
    own = {**server.own, "Origin": "https://board.example", "Sec_Fetch_Site": "same-origin"}
    assert server.ask("POST", "capture", {**BODY, "worker": job.folder.id}, **own)[0] == 200


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("route", ["capture", "interval", "import"])
def test_only_post_asks(server: Server, method: str, route: str) -> None:
    assert server.ask(method, route, **server.own)[0] == 405


def test_an_import_is_cancelled_and_begun_again_by_a_page_only(server: Server, logdir: Path) -> None:
    path = TraceBuilder().step(1, 0, 100).write(logdir / "traced" / "t.pt.trace.json")
    wait_until(lambda: path.name in server.workers())
    at = {"run": "traced", "worker": path.name}
    cancel, again = {**at, "wanted": False}, {**at, "wanted": True}
    summary = f"../summary?run=traced&worker={path.name}"
    assert server.ask("POST", "import", cancel, **{**server.own, "X_Stepscope_Token": "guessed"})[0] == 403
    assert server.ask("POST", "import", cancel, **server.own) == (200, {"wanted": False})
    status, told = server.ask("GET", summary)
    assert (status, told["state"]) == (202, "cancelled")
    assert server.ask("POST", "import", again, **server.own) == (200, {"wanted": True})
    wait_until(lambda: server.ask("GET", summary)[0] != 202)
    assert server.ask("GET", summary)[1]["worker"]["step_count"] == 1
    assert server.ask("POST", "import", {**cancel, "worker": "x"}, **server.own)[0] == 404
    assert (
        server.ask("POST", "import", {"run": "old", "worker": server.ended.folder.id, "wanted": False}, **server.own)[0]
        == 409
    )


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[" * 2000, 400),
        (b"x" * 5000, 413),
        ({**BODY, "steps": "3"}, 400),
        ({**BODY, "steps": 0}, 409),
        ({**BODY, "path": "/etc"}, 400),
        ({**BODY, "run": "../exp1"}, 404),
        ({**BODY, "worker": "../../x"}, 409),
        ({**BODY, "run": "old"}, 409),
    ],
    ids=repr,
)
def test_what_makes_no_sense(server: Server, job: RecordedRun, body: object, status: int) -> None:
    before = server.requests()
    assert server.ask("POST", "capture", body, **server.own)[0] == status
    assert server.requests() == before


@pytest.mark.parametrize("request_id", ["", "../../run", "0" * 15, "g" * 16])
def test_ids_are_no_paths(server: Server, request_id: str) -> None:
    assert server.ask("GET", f"status?run=exp1&request={urllib.parse.quote(request_id)}")[0] == 400


def test_a_server_that_only_reads(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stepscope_tensorboard.api import Api
    from stepscope_tensorboard.logdirs import roots

    monkeypatch.setenv("STEPSCOPE_READ_ONLY", "1")
    api = Api(roots(str(logdir), None))
    assert json.loads(api.answer("control/token", {}).body) == {"token": None}
    answer = api.post("control/capture", {"Sec-Fetch-Site": "same-origin"}, "here", b"{}")
    assert answer.status == 403
    assert b"only reads" in answer.body
    api.close()
