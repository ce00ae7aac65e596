"""The tables of what XLA compiled: runs joined with their program, sums that add up, ceilings of known devices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepscope.analysis.ceilings import ceilings_of
from stepscope.hlo.cost import PARTS_APART
from stepscope.hlo.programs import NO_PROGRAM
from stepscope.schema import NONE, Device
from stepscope.tables import Tables
from stepscope.tables.hlo import program_label
from stepscope.tables.query import Query, select_tree
from stepscope.tables.roofline import operator_roofline, roofline
from stepscope.timeline import Timeline
from stepscope.workers import FileWorker, programs_of
from tests.builders import TraceBuilder
from tests.hlo.programs import computation, dense_layer, instruction, program
from tests.hlo.recording import cpu_planes
from tests.importers.xspace import PlaneBuilder, xspace
from tests.tables.build import rows_of, tables_of, training

#: Of an NVIDIA A100 as XLA's profiler tells it: no name, but these.
A100 = {"device_vendor": "Nvidia", "compute_cap_major": 8, "compute_cap_minor": 0, "core_count": 108}
PRODUCT, REST = 2 * 64 * 256 * 128, 2 * 64 * 256


def tables_of_file(folder: Path, *planes: PlaneBuilder) -> Tables:
    path = folder / "host.xplane.pb"
    path.write_bytes(xspace(*planes))
    worker = FileWorker(path, "w", use_cache=True)  # the programs come from the cache, as in the viewer
    return Tables(Timeline(worker), programs=lambda: programs_of(worker))


def on_cpu(folder: Path) -> Tables:
    return tables_of_file(folder, *cpu_planes())


def by_name(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in rows}


def test_operations_with_their_work(tmp_path: Path) -> None:
    tables = on_cpu(tmp_path)
    rows = by_name(rows_of(tables, "hlo", "op"))
    assert list(rows) == ["dot.1", "add_maximum_fusion", "while.1", "add.1", "lost"], "by self time"
    dot = rows["dot.1"]
    assert (dot["executions"], dot["total_ns"], dot["self_ns"], dot["mean_ns"]) == (2, 50_000, 50_000, 25_000)
    assert dot["flops"] == 2 * PRODUCT
    assert dot["flop_per_s"] == pytest.approx(2 * PRODUCT / 50e-6)
    assert dot["bytes"] == 2 * 4 * (64 * 128 + 128 * 256 + 64 * 256)
    assert dot["intensity"] == pytest.approx(dot["flops"] / dot["bytes"])
    assert (dot["category"], dot["framework_op"], dot["op_type"]) == ("matrix product", "model/dense/MatMul", "MatMul")
    assert dot["source"] == "m.py:7"
    assert dot["program"] == "jit_step (7)"
    assert dot["expression"] == "%dot.1 = f32[64,256]{1,0} dot(%x, %w)"
    assert (dot["bound"], dot["of_roof"]) == (None, None), "a CPU has no ceilings here"


def test_what_runs_inside_a_loop_is_not_its_own_time_and_no_work_is_counted_twice(tmp_path: Path) -> None:
    rows = by_name(rows_of(on_cpu(tmp_path), "hlo", "op"))
    assert (rows["while.1"]["total_ns"], rows["while.1"]["self_ns"]) == (10_000, 6_000)
    assert (rows["while.1"]["flops"], rows["while.1"]["why"]) == (None, PARTS_APART)
    assert (rows["add.1"]["self_ns"], rows["add.1"]["executions"], rows["add.1"]["flops"]) == (4_000, 2, 16)
    assert (rows["lost"]["flops"], rows["lost"]["category"], rows["lost"]["why"]) == (None, None, NO_PROGRAM)


def test_every_grouping_adds_up(tmp_path: Path) -> None:
    tables = on_cpu(tmp_path)
    for by in tables.table("hlo").groupings:
        rows = rows_of(tables, "hlo", by)
        assert sum(row["self_ns"] for row in rows) == 84_000
        assert sum(row["flops"] or 0 for row in rows) == 2 * (PRODUCT + REST) + 16
        assert sum(row["share"] for row in rows) == pytest.approx(1)
        assert sum(row["count"] for row in rows) == len(tables.frame("hlo", "none")) == 8
    kinds = {row["category"]: row for row in rows_of(tables, "hlo", "category")}
    assert set(kinds) == {"matrix product", "loop fusion", "control flow", "elementwise", None}
    programs = {row["program"]: row["known"] for row in rows_of(tables, "hlo", "program")}
    assert programs == {"jit_step (7)": 1, "jit_loop (8)": 0.4, "jit_lost (9)": 0}


def test_each_level_of_the_profile_is_the_sum_of_the_one_below(tmp_path: Path) -> None:
    tables = on_cpu(tmp_path)
    for by in tables.table("hlo_profile").groupings:
        frame = tables.frame("hlo_profile", by)
        assert frame.parent is not None
        own = np.array(frame.data.column("self_ns").to_pylist())
        for row in range(len(frame)):
            below = np.flatnonzero(frame.parent == row)
            if len(below):
                assert own[row] == own[below].sum()
        assert own[frame.parent == NONE].sum() == 84_000
    names = tables.frame("hlo_profile", "framework").data.column("name").to_pylist()
    order = select_tree(tables.frame("hlo_profile", "framework"), Query(), 9, frozenset()).rows
    assert [names[i] for i in order][:6] == ["jit_step (7)", "model", "dense", "MatMul", "dot.1", "Relu"]


def gpu(folder: Path, **told: Any) -> Tables:
    """Two executions of a product that takes two kernels, one of them twice, on each of two GPUs."""
    planes = []
    for number in range(2):
        plane = PlaneBuilder(f"/device:GPU:{number}", **told).line(7, "Stream #7(Kernel)", 10**18)
        for i in range(2):
            for k, kernel in enumerate(("transpose", "gemm", "transpose")):
                at = 100_000_000 * i + 10_000_000 * k
                plane.event(
                    kernel, at, 10_000_000, kernel_details="regs:1", hlo_op="dot.1", hlo_module="jit_step", program_id=7
                )
        planes.append(plane)
    return tables_of_file(folder, *planes, PlaneBuilder("/host:metadata").program(7, "jit_step(7)", dense_layer()))


def test_an_execution_may_take_several_kernels(tmp_path: Path) -> None:
    (row,) = rows_of(gpu(tmp_path), "hlo", "op")
    assert (row["count"], row["executions"], row["self_ns"]) == (12, 4, 120_000)
    assert row["flops"] == 4 * PRODUCT
    assert row["bound"] is None, "the device's model is not told"


def test_ceilings_of_a_known_device(tmp_path: Path) -> None:
    """An A100 reads 1,555 GB/s and multiplies 156 TFLOP/s in TF32: 100 FLOP a byte; the product has 18."""
    tables = gpu(tmp_path, **A100)
    (row,) = rows_of(tables, "hlo", "op")
    size = 4 * (64 * 128 + 128 * 256 + 64 * 256)
    assert row["bound"] == "memory"
    assert row["of_roof"] == pytest.approx(size / 1555e9 / 30e-6)
    assert row["lost_ns"] == pytest.approx(120_000 - 4 * size / 1555, abs=1)
    answer = roofline(tables.source, 10)
    assert answer["ceilings"]["flop_per_s"] == {"tf32": 156 * 10**12}
    assert (answer["name"], answer["share"]) == (["dot.1"], [1])
    assert answer["id"] == tables.frame("hlo", "op").id.tolist()


def test_the_roofline_leaves_out_what_computes_nothing_and_says_so(tmp_path: Path) -> None:
    answer = roofline(on_cpu(tmp_path).source, 2)
    assert answer["name"] == ["dot.1", "add_maximum_fusion"]
    assert (answer["count"], answer["without_flops"], answer["without_flops_ns"]) == (3, 2, 10_000)
    assert answer["ceilings"] is None
    assert not answer["on_device"]


@pytest.mark.parametrize(
    ("device", "model"),
    [
        (Device(0, "NVIDIA A100-SXM4-80GB"), "A100 80 GB SXM"),
        (Device(0, "NVIDIA A100-SXM4-40GB"), "A100 40 GB"),
        (Device(0, "Tesla V100-SXM2-16GB"), "V100 SXM2"),
        (Device(0, "NVIDIA H100 80GB HBM3"), "H100 SXM"),
        (Device(0, "NVIDIA H100 PCIe"), "H100 PCIe"),
        (Device(0, "NVIDIA H200"), "H200 SXM"),
        (Device(0, "AMD Instinct MI300X"), "MI300X"),
        (Device(0, "Nvidia", 132, 150 * 10**9, {"compute_cap_major": 9, "compute_cap_minor": 0}), "H200 SXM"),
        (Device(0, "AMD", 304, 206 * 10**9, {"compute_cap_major": 9, "compute_cap_minor": 4}), "MI300X"),
        (Device(0, "NVIDIA GeForce RTX 9999"), None),
        (Device(0), None),
    ],
)
def test_models_of_devices(device: Device, model: str | None) -> None:
    found = ceilings_of(device)
    assert (found and found.model) == model


def test_a_capture_without_xla(tmp_path: Path) -> None:
    tables = tables_of(tmp_path, training())
    assert [tables.table(name).why_empty() for name in ("hlo", "hlo_profile")] == ["no_hlo", "no_hlo"]
    assert len(tables.frame("hlo", "op")) == len(tables.frame("hlo_profile", "category")) == 0
    assert roofline(tables.source, 5)["count"] == 0


def test_names_of_programs() -> None:
    long = "a_inference_f_31__XlaMustCompile_true_config_proto_13561319589895757934_executor_type_1116031815403439.4"
    assert program_label(long, 0) == "a_inference_f_31.4 (0)"
    assert program_label("jit_step", None) == "jit_step"


def test_products_of_pytorch(tmp_path: Path) -> None:
    """A product of bf16 on an A100 in 20 us of device time, in an operator around it: 2 m n k, once."""
    trace = TraceBuilder()
    shapes = {"Input Dims": [[1024, 512], [512, 2048]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}
    trace.op("aten::matmul", 0, 100, external_id=1, **shapes).op("aten::mm", 10, 80, external_id=2, **shapes)
    trace.launch(20, 5, 7, external_id=2).kernel("gemm", 200, 20, 7, 7)
    tables = tables_of(tmp_path, trace)
    rows = {row["name"]: row for row in rows_of(tables, "operators", "shapes")}
    flops, size = 2 * 1024 * 512 * 2048, 2 * (1024 * 512 + 512 * 2048 + 1024 * 2048)
    assert rows["aten::matmul"]["flops"] is None
    found = rows["aten::mm"]
    assert (found["flops"], found["bytes"]) == (flops, size)
    assert found["flop_per_s"] == pytest.approx(flops / 20e-6)
    assert found["of_roof"] == pytest.approx(max(flops / 312e12, size / 1555e9) / 20e-6)
    answer = operator_roofline(tables, 10)
    assert (answer["name"], answer["category"], answer["self_ns"]) == (["aten::mm"], ["aten::mm"], [20_000])
    assert answer["ceilings"]["flop_per_s"] == {"f16": 312 * 10**12}
    assert answer["id"][0] in tables.frame("operators", "shapes").id
    shown = {column.key: column.shown for column in tables.frame("operators", "name").columns}
    assert (shown["flops"], shown["of_roof"]) == (True, True)
    plain = tables_of(tmp_path / "plain", TraceBuilder().op("aten::mm", 0, 10))
    assert not any(c.shown for c in plain.frame("operators", "name").columns if c.key in ("flops", "flop_per_s"))


def test_a_damaged_program_spoils_no_table(tmp_path: Path) -> None:
    add = instruction(1, "add.1", "add", f"f32[{2**59}]", op_name="a/" * 3000 + "end")
    host = PlaneBuilder("/host:CPU").line(1, "tf_XLAEigen", 10**18)
    for at in range(32):  # together 2^64 FLOPs
        host.event("add.1", at * 1_000_000, 1_000_000, hlo_op="add.1", hlo_module="m", program_id=7)
    damaged = program("m", computation(1, "main", add, root=1), entry=1)
    tables = tables_of_file(tmp_path, host, PlaneBuilder("/host:metadata").program(7, "m(7)", damaged))
    [row] = rows_of(tables, "hlo", "op")
    assert (row["executions"], row["self_ns"]) == (32, 32_000)
    assert row["flops"] == pytest.approx(2**63)
    levels = rows_of(tables, "hlo_profile", "framework")
    assert len(levels) < 100
    assert levels[-1]["self_ns"] == 32_000
