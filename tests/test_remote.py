"""Runs that lie elsewhere: every way to write a path gives the numbers of the local copy."""

import gzip
import os
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from stepscope import remote
from stepscope.errors import StepscopeError
from stepscope.runs import open_run
from stepscope.summary import summarize
from tests.builders import TraceBuilder
from tests.recorded import RecordedRun


class Store(MemoryFileSystem):
    """An object store whose objects can vanish after the listing, or come short a few times."""

    protocol = "teststore"
    store: dict = {}
    pseudo_dirs = [""]
    gone: set = set()
    short: dict = {}  # path -> how often it comes short
    fetched: list = []

    @classmethod
    def _strip_protocol(cls, path):
        return "/" + path.removeprefix(f"{cls.protocol}://").strip("/")

    def get_file(self, rpath, lpath, **kwargs):
        Store.fetched.append(rpath)
        if rpath in Store.gone:
            raise FileNotFoundError(rpath)
        data = self.cat_file(rpath)
        if Store.short.get(rpath, 0) > 0:
            Store.short[rpath] -= 1
            data = data[: len(data) * 6 // 10]
        Path(lpath).write_bytes(data)


fsspec.register_implementation("teststore", Store, clobber=True)


@pytest.fixture
def store():
    for kept in (Store.store, Store.gone, Store.short, Store.fetched):
        kept.clear()
    return Store()


def trace(rank: int, kernels: int = 5) -> bytes:
    built = TraceBuilder(rank=rank, world_size=2).step(1, 0, 1000)
    for i in range(kernels):
        built.launch(10 * i, 2, i + 1).kernel("k", 10 * i + 5, 3, correlation=i + 1)
    return built.json()


def put(store: Store, files: dict[str, bytes]) -> None:
    for path, data in files.items():
        store.pipe_file(path, data)


def kernels(path) -> dict[int | None, int]:
    """Runs of the kernel by rank."""
    return {w["rank"]: sum(k["count"] for k in w["kernels"]) for w in summarize(open_run(path))["workers"]}


@pytest.mark.parametrize("url", ["teststore://bucket/x", "teststore://bucket//x/", "teststore://bucket/x//"])
def test_slashes_do_not_matter(store, url):
    put(store, {f"/bucket/x/rank{r}.pt.trace.json": trace(r, r + 1) for r in (0, 1)})
    run = open_run(url)
    assert (run.name, kernels(url)) == ("x", {0: 1, 1: 2})


@pytest.mark.parametrize("url", ["teststore://bucket", "teststore://bucket/"])
def test_the_root_of_a_bucket(store, url):
    put(store, {"/bucket/rank0.pt.trace.json": trace(0), "/bucket/notes.txt": b"not a trace"})
    assert kernels(url) == {0: 5}
    assert Store.fetched == ["/bucket/rank0.pt.trace.json"]


def test_one_file(store):
    put(store, {"/bucket/x/odd name.json.gz": gzip.compress(trace(3))})
    assert kernels("teststore://bucket/x/odd name.json.gz") == {3: 5}


def test_a_recorded_run(store, tmp_path):
    run = RecordedRun(tmp_path / "exp")
    run.step(8, 0, 100, input_wait=(0, 30), forward=(40, 50)).end()
    for file in (tmp_path / "exp").rglob("*"):
        if file.is_file():
            store.pipe_file(f"/bucket/exp/{file.relative_to(tmp_path / 'exp').as_posix()}", file.read_bytes())
    (here,), (there,) = (summarize(open_run(p))["workers"] for p in (tmp_path / "exp", "teststore://bucket/exp"))
    assert there == here


def test_more_objects_than_a_page_of_a_listing(store):
    put(store, {f"/bucket/many/{i:04d}.pt.trace.json": b"{}" for i in range(1500)})
    copy = remote.local_copy("teststore://bucket/many")
    assert len(list(copy.path.glob("*.trace.json"))) == 1500
    assert copy.problems == []


def test_an_object_that_is_gone_after_the_listing(store):
    put(store, {f"/bucket/x/rank{r}.pt.trace.json": trace(r) for r in (0, 1)})
    Store.gone.add("/bucket/x/rank1.pt.trace.json")
    run = open_run("teststore://bucket/x")
    assert kernels("teststore://bucket/x") == {0: 5}
    assert run.problems == ["/bucket/x/rank1.pt.trace.json was listed but is not there any more; it is left out."]


def test_a_partial_object_is_fetched_again(store):
    put(store, {f"/bucket/x/rank{r}.pt.trace.json": trace(r) for r in (0, 1)})
    Store.short["/bucket/x/rank1.pt.trace.json"] = remote.TRIES - 1
    assert kernels("teststore://bucket/x") == {0: 5, 1: 5}
    assert open_run("teststore://bucket/x").problems == []


def test_an_object_that_stays_partial_is_marked_incomplete(store):
    """60 percent of a gzip with 100 kernels: what can be unpacked is shown, the other rank is whole."""
    put(
        store,
        {"/bucket/x/rank0.pt.trace.json": trace(0), "/bucket/x/rank1.pt.trace.json.gz": gzip.compress(trace(1, 100))},
    )
    Store.short["/bucket/x/rank1.pt.trace.json.gz"] = 99
    found = summarize(open_run("teststore://bucket/x"))
    whole, part = sorted(found["workers"], key=lambda w: w["worker"])
    assert [n["code"] for n in whole["quality"]] == []
    assert "truncated" in [n["code"] for n in part["quality"]]
    assert "truncated" in part["trust"]["sentence"]
    assert 0 < sum(k["count"] for k in part["kernels"]) < 100
    (problem,) = found["problems"]
    assert problem.startswith("/bucket/x/rank1.pt.trace.json.gz came incomplete 3 times")
    Store.short.clear()  # the upload has ended
    assert kernels("teststore://bucket/x") == {0: 5, 1: 100}


def test_only_what_changed_is_fetched_again(store):
    put(store, {f"/bucket/x/rank{r}.pt.trace.json": trace(r) for r in (0, 1)})
    assert kernels("teststore://bucket/x") == {0: 5, 1: 5}
    Store.fetched.clear()
    put(store, {"/bucket/x/rank1.pt.trace.json": trace(1, 7)})
    assert kernels("teststore://bucket/x") == {0: 5, 1: 7}
    assert Store.fetched == ["/bucket/x/rank1.pt.trace.json"]
    store.rm_file("/bucket/x/rank0.pt.trace.json")
    assert kernels("teststore://bucket/x") == {1: 7}


def test_names_that_lead_out_of_the_folder_are_not_followed(store, tmp_path):
    put(store, {"/bucket/x/rank0.pt.trace.json": trace(0)})
    Store.store["/bucket/x/../../evil.pt.trace.json"] = Store.store["/bucket/x/rank0.pt.trace.json"]
    folder = remote.local_copy("teststore://bucket/x").path
    assert [p.name for p in folder.iterdir() if p.suffix == ".json" and not p.name.startswith(".")] == [
        "rank0.pt.trace.json"
    ]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("teststore://nothing/here", "no such file or folder"),
        ("nosuchscheme://b/x", "paths of the kind nosuchscheme://"),
        ("file://[", "is no address"),
    ],
)
def test_refusals_are_one_sentence(store, url, message):
    with pytest.raises(StepscopeError, match=message) as caught:
        open_run(url)
    assert "\n" not in str(caught.value)


class TestLocal:
    def test_a_file_url(self, tmp_path):
        folder = tmp_path / "with spaces" / "run"
        folder.mkdir(parents=True)
        (folder / "rank0.pt.trace.json").write_bytes(trace(0))
        assert kernels(folder.as_uri()) == kernels(f"file://{folder}") == kernels(folder) == {0: 5}
        assert remote.local_path("file:///") == Path("/")

    def test_a_relative_path_with_spaces(self, tmp_path, monkeypatch):
        (tmp_path / "my runs" / "a b").mkdir(parents=True)
        (tmp_path / "my runs" / "a b" / "rank0.pt.trace.json").write_bytes(trace(0))
        monkeypatch.chdir(tmp_path)
        assert kernels("my runs/a b") == kernels("./my runs//a b/") == {0: 5}

    @pytest.mark.skipif(os.sep != "/", reason="there a backslash is a separator")
    def test_separators_of_another_system(self, tmp_path, monkeypatch):
        (tmp_path / "runs" / "exp").mkdir(parents=True)
        (tmp_path / "runs" / "exp" / "rank0.pt.trace.json").write_bytes(trace(0))
        monkeypatch.chdir(tmp_path)
        assert kernels("runs\\exp") == {0: 5}
        assert remote.local_path("\\\\host\\share\\run") == Path("//host/share/run")

    @pytest.mark.skipif(os.sep != "/", reason="there no name holds a backslash")
    def test_a_name_that_holds_a_backslash_is_taken_as_it_is(self, tmp_path):
        (tmp_path / "runs\\exp").mkdir()
        (tmp_path / "runs\\exp" / "rank0.pt.trace.json").write_bytes(trace(0))
        assert kernels(f"{tmp_path}/runs\\exp") == {0: 5}

    def test_a_drive_is_no_scheme(self):
        assert not remote.is_url("C:\\runs\\exp")
        assert not remote.is_url("C:/runs/exp")
        assert remote.is_url("s3://bucket")
