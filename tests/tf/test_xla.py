"""A step that XLA compiled: its deep window holds the program, and every run is found in it."""

import pytest

from stepscope.analysis.operator_modes import operator_modes
from stepscope.tables import Tables
from stepscope.tables.query import Query
from stepscope.timeline import Timeline
from stepscope.workers import programs_of
from tests.tf.conftest import BATCH, SIZE, fit, make_model, read

pytestmark = pytest.mark.usefixtures("tf")


def test_a_compiled_step(tmp_path):
    from stepscope_tf import ProfilerCallback

    hook = ProfilerCallback(tmp_path / "run", window=(1, 2), monitor_interval_ms=0, overhead_budget=None)
    fit(make_model(jit_compile=True), [hook])
    hook.close()
    worker = read(tmp_path / "run").worker
    tables = Tables(Timeline(worker), programs=lambda: programs_of(worker))
    order = tables.order("hlo", "op", Query()).all()
    rows = tables.frame("hlo", "op").data.take(order).to_pylist()
    assert rows
    assert all(row["category"] for row in rows), "each operation is in its program"
    assert {row["executions"] for row in rows} >= {2}, "in each of the two steps"
    # the first layer's product of this batch, a dot by itself or in a fusion
    products = [row for row in rows if row["category"].startswith("matrix product")]
    assert 2 * 2 * BATCH * SIZE * 8 in [row["flops"] for row in products]
    assert all(row["flop_per_s"] > 0 and row["intensity"] > 0 for row in products)
    check_memory(tables)
    modes = operator_modes(tables.source.events, tables.source.links, worker.framework)
    assert modes.host_compiled_ns > 0
    assert modes.host_eager_ns >= 0


def check_memory(tables):
    """The largest program has all parts of its memory, and its temporary allocations are all but full at the peak."""
    views, names = tables.source.program_views, tables.source.programs.names()
    courses = [course for number in names if (course := views.memory(number))]
    assert courses, "TensorFlow records the buffer assignment"
    course = max(courses, key=lambda each: each.memory.total_bytes)
    memory = course.memory
    assert min(memory.parameter_bytes, memory.temporary_bytes) > 0
    assert 0 <= memory.unused_bytes < 64 * len(course.buffers)
    assert sum(each.size_bytes for each in course.alive(course.peak)) == memory.peak_bytes == int(course.level.max())
    assert {each.kind for each in course.alive(course.peak)} >= {"parameter", "temporary"}
