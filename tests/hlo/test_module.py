"""HLO programs: read from their protos, kept with a window, equal to what a generated parser reads."""

from __future__ import annotations

from pathlib import Path

from stepscope.hlo import read_module
from stepscope.hlo.cost import NOT_READ
from stepscope.hlo.graph import MOST_NODES, Graphs
from stepscope.hlo.programs import NO_PROGRAM, SEVERAL_PROGRAMS, Operation, Programs
from stepscope.importers import import_file, xplane_programs
from stepscope.schema import Program
from stepscope.store import read_programs, read_window, write_window
from tests.hlo.programs import computation, dense_layer, fusion, instruction, member, message, packed, program
from tests.hlo.runs import write_dense_run
from tests.importers.xspace import PlaneBuilder, xspace


def test_a_module_is_read() -> None:
    module = read_module(dense_layer())
    assert module.name == "jit_step"
    assert module.entry is not None
    assert [each.name for each in module.entry.instructions] == ["x", "w", "b", "dot.1", "add_maximum_fusion"]
    _, dot = module.by_name["dot.1"]
    assert (dot.op_name, dot.op_type, dot.source) == ("model/dense/MatMul", "MatMul", "m.py:7")
    assert dot.shape.text == "f32[64,256]{1,0}"
    assert dot.shape.bytes == 64 * 256 * 4
    assert dot.attributes["dot"] == ((1,), ())
    assert [each and each.name for each in module.entry.operands(dot)] == ["x", "w"]
    _, fusion = module.by_name["add_maximum_fusion"]
    assert fusion.fusion_kind == "kLoop"
    assert [each.name for each in module.called(fusion)] == ["fused_computation"]
    assert module.schedule == {2: [21, 22, 23, 24, 25]}
    assert not module.fault


def test_a_cut_module_keeps_what_comes_before() -> None:
    whole = dense_layer()
    read = [read_module(whole[:end]) for end in range(len(whole))]
    assert all(module.fault for module in read[1:])
    counts = [sum(1 for _ in module.instructions()) for module in read]
    assert counts == sorted(counts)
    assert counts[-1] == 12


def test_damaged_programs_are_read_as_far_as_they_go() -> None:
    """Every byte changed in turn: whatever is found has costs that are numbers, or a reason."""
    whole = dense_layer()
    for at in range(len(whole)):
        damaged = whole[:at] + bytes([whole[at] ^ (1 << at % 8)]) + whole[at + 1 :]
        programs = Programs([Program("jit_step", 7, damaged)])
        module = programs.module(7)
        assert module is not None
        for name in module.by_name:
            found = programs.operation(7, "jit_step", name)
            assert isinstance(found, Operation)
            assert found.cost.why or found.cost.flops is not None


def test_what_no_compiler_nests_so_deep_ends() -> None:
    inner = b""
    for _ in range(3000):
        inner = member(2, 13) + message(4, inner)
    tuples = computation(1, "c", member(1, "t") + member(2, "tuple") + message(3, inner) + member(35, 1), root=1)
    assert read_module(program("m", tuples, entry=1)).fault
    fusions = [computation(i, f"c{i}", fusion(i, f"f{i}", "f32[4]", [], i + 1), root=i) for i in range(1, 3000)]
    assert Programs([Program("m", 1, program("m", *fusions, entry=1))]).operation(1, "m", "f1").cost.why == NOT_READ


def a_file(folder: Path) -> Path:
    host = PlaneBuilder("/host:CPU").line(1, "tf_XLAEigen", 10**18)
    host.event("dot.1", 0, 5_000_000, hlo_op="dot.1", hlo_module="jit_step", program_id=7)
    metadata = PlaneBuilder("/host:metadata").program(7, "jit_step(7)", dense_layer()).program(1, "other(8)", b"\n\0")
    path = folder / "host.xplane.pb"
    path.write_bytes(xspace(host, metadata))
    return path


def test_programs_are_kept_with_the_window(tmp_path: Path) -> None:
    window = import_file(a_file(tmp_path))
    assert [(p.name, p.id) for p in window.programs] == [("jit_step", 7), ("other", 8)]
    write_window(tmp_path / "window", window)
    assert read_programs(tmp_path / "window") == window.programs
    assert read_window(tmp_path / "window").programs == []


def test_what_is_too_large_is_left_out_and_counted(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(xplane_programs, "MAX_BYTES", len(dense_layer()))
    window = import_file(a_file(tmp_path))
    assert [p.name for p in window.programs] == ["jit_step"], "the one that ran goes first, though it is larger"
    assert [(n.code, n.count) for n in window.notes if n.code == "programs_left_out"] == [("programs_left_out", 1)]


def test_a_damaged_program_is_told_with_the_window(tmp_path: Path) -> None:
    def damage(program: bytes) -> list[int]:
        write_dense_run(tmp_path, program)
        window = import_file(tmp_path / "host.xplane.pb")
        return [note.count for note in window.notes if note.code == "damaged_program"]

    assert damage(dense_layer()) == []
    assert damage(dense_layer()[:-40]) == [1]


def test_instructions_of_one_id_are_told_apart() -> None:
    same = [instruction(0, f"a{i}", "add", "f32[2]", [0, 0]) for i in range(400)]
    module = read_module(program("m", computation(1, "main", *same, root=0), entry=1))
    computation_, last = module.by_name["a399"]
    assert module.fault
    assert len(computation_.by_id) == 400
    assert computation_.root.name == "a0"
    graph = Graphs(module).around("a399", 6)
    assert {"a0", "a399"} <= {node.instruction.name for node in graph.nodes}
    assert len(graph.nodes) <= MOST_NODES
    assert last.operands == (0, 0)


def test_arrays_of_more_dimensions_than_a_program_has_are_damage() -> None:
    for dimensions in (packed(3, [2**62] * 100_000), b"".join(member(3, 1) for _ in range(100_000))):
        one = computation(1, "c", member(1, "a") + message(3, member(2, 11) + dimensions) + member(35, 1), root=1)
        assert read_module(program("m", one, entry=1)).fault


def test_a_name_that_several_programs_have_names_none_of_them() -> None:
    programs = Programs([Program("jit_step", number, dense_layer()) for number in (7, 8)] + [Program("one", 9, b"")])
    assert programs.operation(None, "jit_step", "dot.1") == SEVERAL_PROGRAMS
    assert programs.operation(9, "jit_step", "dot.1") != SEVERAL_PROGRAMS
    assert programs.operation(10, "jit_step", "dot.1") == NO_PROGRAM
    assert isinstance(programs.operation(8, "jit_step", "dot.1"), Operation)
