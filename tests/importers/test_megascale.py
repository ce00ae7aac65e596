"""Transfers between slices of TPUs: from the operations of a core to collectives with slack, stall and bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepscope.analysis.collectives import collective_runs, communication
from stepscope.analysis.launches import link
from stepscope.importers import import_file
from stepscope.importers.megascale_info import group_size
from stepscope.schema import NONE, Kind, Window
from tests.hlo.programs import computation, instruction, program
from tests.importers.xspace import PlaneBuilder, member, xspace

START_NS = 1_700_000_000_000_000_000
PS = 1000


def transfer(id: int, name: str, opcode: str, channel: int, rendezvous: str = "", kind: str = "", of: str = "f32[256]"):
    """An instruction between host and core; the two that begin it name the rendezvous."""
    told = {"_xla_host_transfer_rendezvous": rendezvous, "_xla_megascale_transfer_type": kind} if rendezvous else {}
    frontend = b"".join(member(1, member(1, key) + member(2, value)) for key, value in told.items())
    return instruction(id, name, opcode, of, extra=member(26, channel) + (member(68, frontend) if told else b""))


def transfers(number: int, rendezvous: str, kind: str = "ALL_REDUCE") -> list[bytes]:
    """send.N, send-done.N, recv.N and recv-done.N of one collective of a buffer of 1024 bytes."""
    first, channel = number * 10, number * 2
    return [
        transfer(first, f"send.{number}", "send", channel, rendezvous, kind),
        transfer(first + 1, f"send-done.{number}", "send-done", channel),
        transfer(first + 2, f"recv.{number}", "recv", channel + 1, rendezvous, kind),
        transfer(first + 3, f"recv-done.{number}", "recv-done", channel + 1, of="(f32[256], token[])"),
    ]


def endpoints(count: int) -> bytes:
    """A DcnCollectiveInfoProto with one group of endpoints."""
    return member(2, b"".join(member(1, member(1, slice_id) + member(2, 3)) for slice_id in range(1, count + 1)))


def space(*operations: tuple[str, int, int], programs: bytes | None = None, slices: int = 4, device: int = 0) -> bytes:
    """A core that runs operations (name, begin and end in ns) inside one program."""
    core = PlaneBuilder(f"/device:TPU:{device}")
    core.line(1, "XLA Modules").event("jit_step(77)", 0, 10**9)
    core.line(2, "XLA Ops")
    for name, begin, end in operations:
        opcode = name.split(".")[0]
        text = f"%{name} = f32[256] {opcode}()"
        if opcode != "fusion":
            core.about(
                text, hlo_category=f"host {opcode}", **{"dcn_collective_info": endpoints(slices)} if slices else {}
            )
        core.event(text, begin * PS, (end - begin) * PS)
    planes = [core, PlaneBuilder("Task Environment", profile_start_time=START_NS)]
    if programs is not None:
        planes.append(PlaneBuilder("/host:metadata").program(5, "jit_step(77)", programs))
    return xspace(*planes)


def step_program(*instructions: bytes) -> bytes:
    return program("jit_step", computation(1, "main", *instructions, root=10), entry=1)


def load(folder: Path, data: bytes) -> Window:
    path = folder / "host.xplane.pb"
    path.write_bytes(data)
    return import_file(path)


def collectives(folder: Path, data: bytes):
    events = load(folder, data).events
    found = communication(events, collective_runs(events, link(events)))
    return found.collectives if found else []


#: As in xprof's own test of the definitions: 3 ns of slack, 5 ns of stall, 8 ns in all.
ONE = [("send.1", 2000, 4000), ("send-done.1", 4000, 5000), ("recv.1", 8000, 9000), ("recv-done.1", 9000, 10000)]


def test_slack_stall_bytes_and_bandwidth(tmp_path: Path) -> None:
    (row,) = collectives(tmp_path, space(*ONE, programs=step_program(*transfers(1, "all-reduce.7"))))
    assert (row.name, row.group, row.group_size, row.device, row.count) == ("all_reduce", "all-reduce.7", 4, True, 1)
    assert (row.total_ns, row.slack_ns, row.stall_ns) == (8000, 3000, 5000)
    assert (row.slack_from, row.slack_known, row.in_slack, row.bytes) == ("operations", 1, 0, 1024)
    assert row.needed_algbw_bytes_per_s == pytest.approx(1024 / 3e-6)
    assert row.needed_busbw_bytes_per_s == pytest.approx(1536 / 3e-6)  # xprof: 2 * 3 / 4 of 1024 over the network


def test_operations_of_other_collectives_are_no_slack(tmp_path: Path) -> None:
    operations = [
        ("send.1", 2000, 4000), ("send.2", 4000, 5000), ("send-done.1", 7000, 8000), ("send-done.2", 8000, 10000),
        ("recv.1", 10000, 11000), ("recv-done.1", 11000, 13000), ("recv.2", 13000, 14000),
        ("recv-done.2", 14000, 150000),
    ]  # fmt: skip
    compiled = step_program(*transfers(1, "collective-1"), *transfers(2, "collective-2"))
    rows = {row.group: row for row in collectives(tmp_path, space(*operations, programs=compiled))}
    assert {group: (row.slack_ns, row.stall_ns, row.total_ns) for group, row in rows.items()} == {
        "collective-1": (2000, 6000, 11_000),
        "collective-2": (2000, 140_000, 146_000),
    }


@pytest.mark.parametrize(
    ("kind", "name", "size", "over_the_network"),
    [
        ("ALL_GATHER", "all_gather", 1024, 768),
        ("ALL_TO_ALL", "all_to_all", 1024, 768),
        ("REDUCE_SCATTER", "reduce_scatter", 4096, 3072),
        ("ONE_TO_ONE", "send_recv", 1024, 1024),
        ("SOMETHING_NEW", "something_new", None, None),
    ],
)
def test_bytes_by_the_kind_of_the_transfer(
    tmp_path: Path, kind: str, name: str, size: int, over_the_network: int
) -> None:
    (row,) = collectives(tmp_path, space(*ONE, programs=step_program(*transfers(1, "r", kind))))
    assert (row.name, row.bytes) == (name, size)
    crossing = None if over_the_network is None else pytest.approx(over_the_network / 3e-6)
    assert row.needed_busbw_bytes_per_s == crossing


def test_occurrences_and_what_the_timeline_shows(tmp_path: Path) -> None:
    later = [(name, begin + 20_000, end + 20_000) for name, begin, end in ONE]
    window = load(tmp_path, space(*ONE, ("fusion.1", 5000, 8000), *later, programs=step_program(*transfers(1, "r"))))
    events = window.events
    (lane,) = [i for i, lane in enumerate(events.lanes) if lane.name == "MegaScale r"]
    assert (events.lanes[lane].type, events.lanes[lane].device) == ("stream", 0)
    runs = events.lane == lane
    assert sorted((events.ts_ns[runs] - START_NS).tolist()) == [2000, 22_000]
    assert events.kind[runs].tolist() == [Kind.COLLECTIVE] * 2
    waits = events.kind == Kind.SYNC
    assert sorted(events.text(row) for row in waits.nonzero()[0])[0] == "%recv-done.1 = f32[256] recv-done()"
    assert int(waits.sum()) == 8
    (row,) = communication(events, collective_runs(events, link(events))).collectives
    assert (row.count, row.slack_ns, row.stall_ns, row.exposed_ns) == (2, 6000, 10_000, 13_000)  # 5000, and 8000 bare


def test_cores_are_apart(tmp_path: Path) -> None:
    compiled = step_program(*transfers(1, "r"))
    both = space(*ONE, programs=compiled) + space(*ONE, device=1)
    (row,) = collectives(tmp_path, both)
    assert (row.count, row.slack_ns, row.stall_ns) == (2, 6000, 10_000)


@pytest.mark.parametrize("programs", [None, step_program(transfer(10, "send.1", "send", 1)), b"\x0a\xff"])
def test_transfers_of_unknown_rendezvous_are_counted(tmp_path: Path, programs: bytes | None) -> None:
    window = load(tmp_path, space(*ONE, programs=programs))
    assert communication(window.events, collective_runs(window.events, link(window.events))) is None
    assert [note.count for note in window.notes if note.code == "missing_field"] == [4]
    assert not (window.events.kind == Kind.SYNC).any()


def test_what_is_cut_has_no_run(tmp_path: Path) -> None:
    operations = [*ONE[2:], ("send.1", 12_000, 13_000)]  # the end of one, and the begin of another
    assert collectives(tmp_path, space(*operations, programs=step_program(*transfers(1, "r")))) == []


def test_without_the_endpoints_the_group_is_not_known(tmp_path: Path) -> None:
    (row,) = collectives(tmp_path, space(*ONE, programs=step_program(*transfers(1, "r")), slices=0))
    assert (row.group_size, row.bytes) == (None, 1024)
    assert row.needed_busbw_bytes_per_s is None


@pytest.mark.parametrize(
    ("message", "size"),
    [
        (endpoints(4), 4),
        (member(3, member(1, member(1, 1)) + member(2, member(1, 2))), 2),
        (b"", None),
        (b"\x12\x7f", None),
        (None, None),
    ],
)
def test_group_size(message: bytes | None, size: int | None) -> None:
    assert group_size(message) == size


def test_a_file_without_transfers_is_as_it_was(tmp_path: Path) -> None:
    events = load(tmp_path, space(("fusion.1", 0, 5000))).events
    assert [lane.name for lane in events.lanes] == ["XLA Modules", "XLA Ops"]
    assert events.stream.tolist() == [1, 2]
    assert NONE not in events.args.tolist() or events.args.tolist() == [NONE] * 2
