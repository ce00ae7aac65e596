"""A step that XLA compiled: its deep window holds the program, and every run is found in it."""

import pytest

from stepscope.tables import Tables
from stepscope.tables.query import Query
from stepscope.timeline import Timeline
from stepscope.workers import programs_of
from tests.tf.conftest import BATCH, SIZE, fit, make_model, read

pytestmark = pytest.mark.usefixtures("tf")


def test_a_compiled_step(tmp_path):
    from stepscope_tf import ProfilerCallback

    hook = ProfilerCallback(tmp_path / "run", window=(1, 2), monitor_interval_ms=0)
    fit(make_model(jit_compile=True), [hook])
    hook.close()
    worker = read(tmp_path / "run").worker
    tables = Tables(Timeline(worker), programs=lambda: programs_of(worker))
    order = tables.order("hlo", "op", Query())
    rows = tables.frame("hlo", "op").data.take(order).to_pylist()
    assert rows
    assert all(row["category"] for row in rows), "each operation is in its program"
    assert {row["executions"] for row in rows} >= {2}, "in each of the two steps"
    # the first layer's product of this batch, a dot by itself or in a fusion
    products = [row for row in rows if row["category"].startswith("matrix product")]
    assert 2 * 2 * BATCH * SIZE * 8 in [row["flops"] for row in products]
    assert all(row["flop_per_s"] > 0 and row["intensity"] > 0 for row in products)
