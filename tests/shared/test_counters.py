"""Hardware counters of a real trace of CUPTI's range profiler."""

from __future__ import annotations

import pytest

from stepscope.runs import open_run
from stepscope.summary import summarize
from tests.shared.test_traces_load import KINETO, TRACES

pytestmark = pytest.mark.skipif(not TRACES.is_dir(), reason="no ../shared/traces here")
FMA = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"


def test_counters_of_an_a100_by_kernel_and_operator():
    path = next(p for p in KINETO if p.name.startswith("a100_cupti_counters."))
    (worker,) = summarize(open_run(path))["workers"]
    found = worker["device_counters"]
    total = {one["counter"]: one["sum"] for one in found["counters"]}
    assert (len(total), total[FMA]) == (9, 39_142_369_720)
    for by in ("kernels", "operators"):  # as many ranges as launches, 77
        assert sum(one["ranges"] for one in found[by]) == 77
        assert sum(one["values"][FMA] for one in found[by]) == total[FMA]
    of = {one["name"]: one["values"] for one in found["operators"]}
    assert max(of, key=lambda name: of[name][FMA]) == "aten::cudnn_convolution"
