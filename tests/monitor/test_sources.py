"""The sources of this host, and those of hosts that are not here, from small file trees."""

import os
import subprocess
import sys

import psutil
import pytest

from stepscope.monitor import host
from stepscope.monitor.cgroup import CgroupSource, OomKills
from stepscope.monitor.process import ProcessSource, find_tree
from stepscope.schema import Notes

SECOND = 1_000_000_000


def values(source, now_ns=0):
    return {(metric, index): value for metric, index, value in source.sample(now_ns)}


def test_cpu_source_gives_ratios_for_each_core(monkeypatch):
    times = psutil.cpu_times(percpu=True)[0]

    def reading(user, idle):
        return times._replace(**{**dict.fromkeys(times._fields, 0.0), "user": user, "idle": idle})

    readings = [[reading(0, 0), reading(0, 0)], [reading(1.0, 1.0), reading(0.0, 2.0)]]
    monkeypatch.setattr(host.psutil, "cpu_times", lambda percpu: readings.pop(0))
    got = values(host.CpuSource())
    assert got["cpu", -1] == 1.0 / 4.0
    assert (got["cpu_core", 0], got["cpu_core", 1]) == (0.5, 0.0)


def test_guest_time_is_not_counted_twice(monkeypatch):
    times = psutil.cpu_times(percpu=True)[0]
    if "guest" not in times._fields:
        pytest.skip("no guest time on this system")
    zero = times._replace(**dict.fromkeys(times._fields, 0.0))
    readings = [[zero], [zero._replace(user=1.0, guest=1.0, idle=1.0)]]
    monkeypatch.setattr(host.psutil, "cpu_times", lambda percpu: readings.pop(0))
    assert values(host.CpuSource())["cpu", -1] == 0.5


def test_memory_is_within_the_total():
    got = values(host.MemorySource())
    assert 0 < got["memory_used", -1] <= got["memory_total", -1] == psutil.virtual_memory().total


def test_counter_source_gives_nothing_first_then_rates_and_no_negative():
    readings = [
        {"network_receive": {"eth0": 100}, "network_send": {"eth0": 5000}},
        {"network_receive": {"eth0": 300}, "network_send": {"eth0": 0}},  # sent was reset
        {"network_receive": {"eth0": 300}, "network_send": {"eth0": 50}},
    ]
    source = host.CounterSource(lambda: readings.pop(0))
    assert values(source, 10 * SECOND) == {}
    assert values(source, 12 * SECOND) == {("network_receive", -1): 100}
    assert values(source, 13 * SECOND) == {("network_receive", -1): 0, ("network_send", -1): 50}


def test_hardware_counts_and_what_stands_on_it_does_not(tmp_path):
    for name in ("eth0", "eth1"):
        (tmp_path / name / "device").mkdir(parents=True)
    assert host.hardware(["lo", "eth0", "eth1", "bond0", "docker0"], tmp_path, skip=("lo",)) == ["eth0", "eth1"]


def test_a_container_has_no_hardware_and_counts_all_but_loopback(tmp_path):
    assert host.hardware(["lo", "eth0"], tmp_path, skip=("lo",)) == ["eth0"]


def test_counters_of_this_host_are_readable():
    assert set(host.network_counters()) == {"network_receive", "network_send"}
    assert set(host.disk_counters()) == {"disk_read", "disk_write"}


def test_process_tree_has_descendants_but_not_the_sampler_nor_the_dead():
    """This process is the sampler here."""
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE) as child,
        subprocess.Popen(command, stdin=subprocess.PIPE) as grandchild,
    ):
        root = os.getppid()
        children = {root: [os.getpid(), child.pid], child.pid: [grandchild.pid, 10**9], grandchild.pid: []}
        tree = find_tree(root, children.__getitem__, {})
        again = find_tree(root, children.__getitem__, tree)
        child.stdin.close()
        grandchild.stdin.close()
    assert set(tree) == {root, child.pid, grandchild.pid}
    assert again[child.pid] is tree[child.pid]


def test_process_source_follows_a_child():
    command = [sys.executable, "-c", "print(flush=True); import sys; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        source = ProcessSource(child.pid)
        assert set(values(source, 1 * SECOND)) == {("process_memory", -1)}
        got = values(source, 2 * SECOND)
        assert got["process_memory", -1] > 1_000_000
        assert 0 <= got["process_cpu", -1] < 1
        child.stdin.close()
        child.wait()
        assert values(source, 3 * SECOND) == {}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_cgroup_v2_takes_the_smallest_limit_on_the_way_up(tmp_path):
    mount, proc = tmp_path / "cgroup", tmp_path / "proc"
    write(proc / "7" / "cgroup", "0::/job/task\n")
    write(mount / "job" / "cpu.max", "150000 100000\n")
    write(mount / "job" / "memory.max", "1000000\n")
    write(mount / "job" / "memory.current", "900000\n")
    write(mount / "job" / "memory.stat", "anon 300000\ninactive_file 400000\n")
    write(mount / "job" / "task" / "cpu.max", "max 100000\n")
    write(mount / "job" / "task" / "memory.max", "max\n")
    write(mount / "job" / "task" / "memory.current", "800000\n")
    assert values(CgroupSource(7, mount, proc)) == {
        ("cgroup_cpu_limit", -1): 1.5,
        ("cgroup_memory_limit", -1): 1_000_000,
        ("cgroup_memory_used", -1): 500_000,
    }


def test_cgroup_v1_of_a_container_whose_host_path_is_not_mounted(tmp_path):
    mount, proc = tmp_path / "cgroup", tmp_path / "proc"
    write(proc / "7" / "cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n1:name=systemd:/docker/abc\n")
    write(mount / "cpu,cpuacct" / "cpu.cfs_quota_us", "200000\n")
    write(mount / "cpu,cpuacct" / "cpu.cfs_period_us", "100000\n")
    write(mount / "memory" / "memory.limit_in_bytes", "2000000\n")
    write(mount / "memory" / "memory.usage_in_bytes", "1500000\n")
    write(mount / "memory" / "memory.stat", "inactive_file 1\ntotal_inactive_file 500000\n")
    assert values(CgroupSource(7, mount, proc)) == {
        ("cgroup_cpu_limit", -1): 2.0,
        ("cgroup_memory_limit", -1): 2_000_000,
        ("cgroup_memory_used", -1): 1_000_000,
    }


@pytest.mark.parametrize(
    ("membership", "file", "text"),
    [
        ("0::/job", "job/memory.events", "low 0\noom 3\noom_kill {}\n"),
        ("0::/job", "unified/job/memory.events", "oom_kill {}\n"),
        ("4:memory:/job", "memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill {}\n"),
        ("4:memory:/docker/of_the_host", "memory/memory.oom_control", "oom_kill {}\n"),
    ],
)
def test_processes_that_the_kernel_ended_for_want_of_memory(tmp_path, membership, file, text):
    (tmp_path / "1").mkdir()
    (tmp_path / "1/cgroup").write_text(membership + "\n")
    counter = tmp_path / "mount" / file
    counter.parent.mkdir(parents=True)
    counter.write_text(text.format(4))
    kills = OomKills(1, tmp_path / "mount", tmp_path)
    notes = Notes()
    kills.tell(notes)
    assert notes.list() == []
    counter.write_text(text.format(6))
    kills.tell(notes)
    assert [(note.code, note.count) for note in notes.list()] == [("out_of_memory", 2)]


def test_no_counter_of_such_kills(tmp_path):
    notes = Notes()
    OomKills(1, tmp_path, tmp_path).tell(notes)
    assert notes.list() == []


def test_no_limits_no_metrics(tmp_path):
    mount, proc = tmp_path / "cgroup", tmp_path / "proc"
    write(proc / "7" / "cgroup", "4:memory:/\n3:cpu:/\n0::/\n")
    write(mount / "memory" / "memory.limit_in_bytes", "9223372036854771712\n")
    write(mount / "cpu" / "cpu.cfs_quota_us", "-1\n")
    write(mount / "cpu" / "cpu.cfs_period_us", "100000\n")
    assert values(CgroupSource(7, mount, proc)) == {}
    assert values(CgroupSource(8, mount, proc)) == {}  # no such process


def test_a_group_outside_the_namespace_stands_for_the_mounted_root(tmp_path):
    mount, proc = tmp_path / "cgroup", tmp_path / "proc"
    write(proc / "7" / "cgroup", "0::/../../other\n")
    write(mount / "cpu.max", "50000 100000\n")
    assert values(CgroupSource(7, mount, proc)) == {("cgroup_cpu_limit", -1): 0.5}
