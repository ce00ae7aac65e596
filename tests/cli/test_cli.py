"""The command line as a user meets it: exit status, one line of error, what is printed where."""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from stepscope import __version__
from stepscope.cli import main
from stepscope.runs import open_run
from stepscope.summary import summarize
from tests.builders import TraceBuilder


def trace(rank=0, kernel_us=40):
    built = TraceBuilder(rank=rank, world_size=2).step(5, 0, 100).op("aten::mm", 10, 50).launch(12, 3, correlation=1)
    return built.kernel("sgemm", 20, kernel_us, correlation=1).memcpy("HtoD", 70, 10, bytes=1 << 20)


@pytest.fixture
def file(tmp_path):
    return trace().write(tmp_path / "traces" / "rank0.pt.trace.json")


def one_line(capsys):
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith("stepscope: ")
    return line


@contextmanager
def somebody():
    """As a user to whom files can be closed; root is none."""
    if os.geteuid() != 0 or not hasattr(os, "setresuid"):
        yield
        return
    os.setresgid(65534, 65534, 0)
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)


class TestSummary:
    def test_json_is_the_contract(self, file, capsys):
        assert main(["summary", str(file), "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out) == summarize(open_run(file))

    def test_text_names_the_numbers(self, file, capsys):
        assert main(["summary", str(file)]) == 0
        out = capsys.readouterr().out
        for words in ("p50 100 µs", "kernel", "40.0 µs  40.0 %", "sgemm", "aten::mm", "HtoD", "NVIDIA A100"):
            assert words in out, words

    def test_brief_is_six_lines(self, file, capsys):
        assert main(["summary", str(file), "--format", "brief"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines] == ["run", "verdict", "steps", "time", "busy", "quality"]
        assert "GPU 40.0 %" in lines[4]

    def test_text_of_a_worker_by_rank(self, tmp_path, capsys):
        for rank in (0, 1):
            trace(rank, kernel_us=20 * (rank + 1)).write(tmp_path / f"rank{rank}.pt.trace.json")
        assert main(["summary", str(tmp_path), "--worker", "1"]) == 0
        out = capsys.readouterr().out
        assert "In detail: rank1" in out
        assert "40.0 µs  40.0 %" in out
        assert main(["summary", str(tmp_path), "--worker", "7"]) == 2
        assert "rank0.pt.trace.json" in one_line(capsys)

    def test_names_from_a_trace_cannot_steer_the_terminal(self, tmp_path, capsys):
        path = TraceBuilder(rank=0).step(1, 0, 100).kernel("\x1b[2Jevil\nname", 0, 50).write(tmp_path / "a.json")
        assert main(["summary", str(path)]) == 0
        out = capsys.readouterr().out
        assert "\x1b" not in out
        assert "?[2Jevil?name" in out

    def test_a_trace_without_events_has_a_text(self, tmp_path, capsys):
        assert main(["summary", str(TraceBuilder().write(tmp_path / "a.json"))]) == 0
        assert "no_events" in capsys.readouterr().out

    @pytest.mark.parametrize("name", ["missing.json", "missing folder"])
    def test_a_missing_path(self, tmp_path, capsys, name):
        assert main(["summary", str(tmp_path / name)]) == 2
        assert name in one_line(capsys)

    def test_an_empty_folder(self, tmp_path, capsys):
        assert main(["summary", str(tmp_path)]) == 2
        assert str(tmp_path) in one_line(capsys)

    def test_a_file_that_is_no_trace(self, tmp_path, capsys):
        (tmp_path / "notes.pt.trace.json").write_text("dear diary")
        assert main(["summary", str(tmp_path / "notes.pt.trace.json")]) == 2
        assert "notes.pt.trace.json" in one_line(capsys)

    def test_a_log_directory_with_one_run_is_that_run_and_with_two_names_them(self, tmp_path, capsys):
        trace().write(tmp_path / "logs" / "exp1" / "rank0.pt.trace.json")
        assert main(["summary", str(tmp_path / "logs"), "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["run"] == "exp1"
        trace().write(tmp_path / "logs" / "exp2" / "rank0.pt.trace.json")
        assert main(["summary", str(tmp_path / "logs")]) == 2
        assert {"exp1", "exp2"} <= set(one_line(capsys).replace("(", " ").replace(")", " ").replace(",", " ").split())


class TestImport:
    def test_a_file_becomes_a_run_with_the_same_numbers(self, file, tmp_path, capsys):
        assert main(["import", str(file), "--out", str(tmp_path / "logs")]) == 0
        assert "logs/rank0: 1 worker" in capsys.readouterr().out
        (imported,) = summarize(open_run(tmp_path / "logs" / "rank0"))["workers"]
        (direct,) = summarize(open_run(file))["workers"]
        differ = {key for key in direct if direct[key] != imported[key]}
        assert differ <= {"worker"}

    def test_a_folder_becomes_one_run_with_its_ranks(self, tmp_path):
        for rank in (0, 1):
            trace(rank).write(tmp_path / "job" / f"{rank}.pt.trace.json")
        assert main(["import", str(tmp_path / "job"), "--out", str(tmp_path / "logs"), "--name", "mine"]) == 0
        run = open_run(tmp_path / "logs" / "mine")
        assert sorted((w.rank, w.world_size) for w in run.workers) == [(0, 2), (1, 2)]

    def test_a_folder_of_runs_becomes_runs(self, tmp_path):
        for name in ("a", "b"):
            trace().write(tmp_path / "jobs" / name / "rank0.pt.trace.json")
        assert main(["import", str(tmp_path / "jobs"), "--out", str(tmp_path / "logs")]) == 0
        assert sorted(p.name for p in (tmp_path / "logs").iterdir()) == ["a", "b"]

    def test_nothing_is_overwritten(self, file, tmp_path, capsys):
        command = ["import", str(file), "--out", str(tmp_path / "logs")]
        assert main(command) == 0
        capsys.readouterr()
        assert main(command) == 2
        assert "exists already" in one_line(capsys)
        assert main([*command, "--name", "again"]) == 0

    def test_what_cannot_be_read_is_named_and_the_rest_imported(self, file, tmp_path, capsys):
        (file.parent / "bad.pt.trace.json").write_text("no")
        assert main(["import", str(file.parent), "--out", str(tmp_path / "logs")]) == 1
        captured = capsys.readouterr()
        assert "bad.pt.trace.json" in captured.err
        assert "traces: 1 worker" in captured.out

    def test_a_path_that_fails_does_not_stop_the_others(self, file, tmp_path, capsys):
        (tmp_path / "bad.json").write_text("no")
        other = trace(1).write(tmp_path / "other.json")
        paths = [str(tmp_path / "bad.json"), str(file), str(tmp_path / "missing"), str(other)]
        assert main(["import", *paths, "--out", str(tmp_path / "logs")]) == 1
        captured = capsys.readouterr()
        assert "bad.json" in captured.err
        assert "missing" in captured.err
        assert sorted(p.name for p in (tmp_path / "logs").iterdir()) == ["other", "rank0"]
        assert main(["import", *paths, "--out", str(tmp_path / "logs")]) == 2  # all are there already
        assert len(capsys.readouterr().err.splitlines()) == 4

    def test_nothing_readable_leaves_nothing_behind(self, tmp_path, capsys):
        (tmp_path / "bad.pt.trace.json").write_text("no")
        assert main(["import", str(tmp_path / "bad.pt.trace.json"), "--out", str(tmp_path / "logs")]) == 2
        one_line(capsys)
        assert list((tmp_path / "logs").iterdir()) == []

    def test_a_log_directory_that_cannot_be_written(self, file, tmp_path, capsys):
        (tmp_path / "taken").write_text("a file")
        assert main(["import", str(file), "--out", str(tmp_path / "taken")]) == 2
        assert "taken" in one_line(capsys)

    @pytest.mark.parametrize("name", ["../out", "a/b", ".hidden", ""])
    def test_names_that_would_leave_the_log_directory(self, file, tmp_path, capsys, name):
        assert main(["import", str(file), "--out", str(tmp_path / "logs"), "--name", name]) == 2
        one_line(capsys)

    def test_a_recorded_run_needs_no_import(self, file, tmp_path, capsys):
        main(["import", str(file), "--out", str(tmp_path / "logs")])
        capsys.readouterr()
        assert main(["import", str(tmp_path / "logs" / "rank0"), "--out", str(tmp_path / "more")]) == 2
        assert "stepscope view" in one_line(capsys)


class TestPaths:
    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full device")
    @pytest.mark.parametrize("how", ["text", "json"])
    def test_a_full_disk(self, how, file):
        command = [sys.executable, "-m", "stepscope", "summary", str(file), "--format", how]
        with open("/dev/full", "w") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert "No space left" in done.stderr

    @pytest.mark.parametrize("command", ["summary", "view", "import"])
    @pytest.mark.parametrize("letter", ["n", "\\"])
    def test_a_name_that_is_too_long(self, command, letter, tmp_path, capsys):
        out = ["--out", str(tmp_path)] if command == "import" else []
        assert main([command, letter * 5000, *out]) == 2
        one_line(capsys)

    def test_a_long_name_of_a_run(self, file, tmp_path, capsys):
        command = ["import", str(file), "--out", str(tmp_path / "logs"), "--name"]
        assert main([*command, "n" * 255]) == 0
        capsys.readouterr()
        assert main([*command, "n" * 256]) == 2
        assert "name" in one_line(capsys)

    def test_what_is_no_file(self, capsys):
        assert main(["summary", os.devnull]) == 2
        assert "neither a file nor a folder" in one_line(capsys)

    @pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
    @pytest.mark.parametrize("mode", [0o000, 0o111, 0o444])
    def test_a_folder_that_may_not_be_read(self, mode, capsys):
        with tempfile.TemporaryDirectory() as open_to_all:
            os.chmod(open_to_all, 0o755)
            file = Path(open_to_all) / "closed" / "t.pt.trace.json"
            trace().write(file)
            file.parent.chmod(mode)
            try:
                with somebody():
                    for path in (file.parent, file):
                        code = main(["summary", str(path), "--format", "brief"])
                        assert code == (0 if mode == 0o111 and path == file else 2)
                        if code:
                            assert "ermission" in one_line(capsys)
            finally:
                file.parent.chmod(0o755)

    @pytest.mark.skipif(os.name == "nt", reason="such names are for other systems")
    @pytest.mark.parametrize("encoding", ["utf-8:strict", "ascii:strict"])
    def test_names_that_a_terminal_cannot_show(self, encoding, tmp_path):
        name = b"\xff \x1b[31m \xe2\x80\xae"
        with open(bytes(tmp_path) + b"/" + name + b".json", "wb") as out:
            out.write(trace().json())
        command = [sys.executable, "-m", "stepscope", "import", name + b".json", "--out", "logs"]
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        for _ in range(2):  # the second time it exists
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
            assert b"Traceback" not in done.stderr
            assert b"\x1b" not in done.stdout + done.stderr


class TestView:
    def test_a_missing_log_directory(self, tmp_path, capsys):
        assert main(["view", str(tmp_path / "none")]) == 2
        assert "none" in one_line(capsys)

    @pytest.mark.parametrize("port", ["-1", "65536", "http", ""])
    def test_a_port_that_is_none(self, port, tmp_path, capsys):
        with pytest.raises(SystemExit) as exit:
            main(["view", str(tmp_path), "--port", port])
        assert exit.value.code == 2
        assert "--port" in capsys.readouterr().err

    @pytest.mark.slow
    def test_an_address_that_is_none(self, tmp_path, capsys):
        assert main(["view", str(tmp_path), "--host", "999.1.1.1", "--port", "0"]) == 2
        assert "999.1.1.1" in capsys.readouterr().err

    def test_without_tensorboard(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr("stepscope.cli.view.find_spec", lambda name: None)
        assert main(["view", str(tmp_path)]) == 2
        assert "stepscope[tensorboard]" in one_line(capsys)

    @pytest.mark.slow
    def test_tensorboard_has_the_plugin(self, file):
        command = [sys.executable, "-m", "stepscope", "view", file.parent.parent, "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            try:
                address = process.stdout.readline().split("Stepscope: ")[1].split("#")[0]
                with urllib.request.urlopen(address + "data/plugins_listing") as answer:
                    assert "stepscope" in json.load(answer)
                with urllib.request.urlopen(address + "data/plugin/stepscope/runs") as answer:
                    assert [run["name"] for run in json.load(answer)["runs"]] == ["traces"]
            finally:
                process.terminate()


class TestProcess:
    def run(self, *arguments, **options):
        command = [sys.executable, "-m", "stepscope", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, **options)

    def test_version(self):
        assert self.run("--version").stdout.split() == ["stepscope", __version__]

    def test_help_names_the_commands(self):
        out = self.run("--help").stdout
        assert all(command in out for command in ("summary", "import", "view", "demo"))

    def test_a_reader_that_leaves_gets_no_traceback(self, file):
        command = f"{sys.executable} -m stepscope summary {file} --format json | head -c 10"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert done.stdout == '{"schema":'
        assert done.stderr == ""

    def test_a_terminal_without_unicode(self, tmp_path):
        path = TraceBuilder(rank=0).step(1, 0, 100).op("größe", 0, 50).write(tmp_path / "a.json")
        done = self.run("summary", path, env={**os.environ, "PYTHONIOENCODING": "ascii"})
        assert (done.returncode, done.stderr) == (0, "")
        assert "gr\\xf6\\xdfe" in done.stdout
        assert "p50 100 us" in done.stdout

    def test_a_summary_imports_no_framework(self, file):
        code = (
            "import sys; from stepscope.cli import main; main(['summary', sys.argv[1]]); "
            "print(sorted({'torch', 'tensorflow', 'tensorboard', 'keras'} & set(sys.modules)))"
        )
        done = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[]"
