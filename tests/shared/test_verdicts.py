"""What the rules say of real traces, each read by hand: the first finding, and advice that must not be given."""

from __future__ import annotations

import pytest

from stepscope.rules import RULES
from stepscope.runs import open_run
from stepscope.summary import summarize
from tests.shared.test_traces_load import KINETO, TRACES

#: Trace -> severity and rule of the verdict. None: nothing is wrong, or nothing can be judged.
VERDICTS = {
    "v100_resnet50_workers0": ("critical", "input_bound"),  # num_workers=0
    "v100_resnet50_workers4": ("warning", "matrix_units"),  # the same with workers: fp32 convolutions on a V100
    "v100_ddp_rank1of2": ("warning", "matrix_units"),
    "a100_ddp_rank0of2": ("critical", "host_bound"),  # kernels cover 17 % of the step
    "h100_bert_small": ("critical", "host_bound"),  # 60 kernels of 5 us in 4.4 ms
    "mi300_bert_small": ("critical", "host_bound"),
    "mi250_minitoy": ("critical", "host_bound"),
    "h100_qwen_0p5b": ("warning", "unfused_kernels"),  # half of the step in elementwise kernels
    "b200_eager_rank0of8": ("warning", "host_bound"),  # eager decoding
    "sampled_rank0of128": ("warning", "exposed_communication"),  # all-to-all
    "cpu_only_rank34": ("warning", "host_communication"),
    "a100_cupti_counters": ("unknown", None),  # launches without a single record of a device
}


pytestmark = pytest.mark.skipif(not TRACES.is_dir(), reason="no ../shared/traces here")


@pytest.fixture(scope="module", params=sorted(VERDICTS))
def told(request):
    path = next(p for p in KINETO if p.name.startswith(request.param + "."))
    return request.param, summarize(open_run(path))


def test_the_verdict(told):
    name, summary = told
    assert (summary["verdict"]["severity"], summary["verdict"]["rule"]) == VERDICTS[name]


def test_no_rule_fails_and_no_gain_exceeds_the_whole(told):
    _, summary = told
    codes = {note["code"] for worker in summary["workers"] for note in worker["quality"]}
    assert "rule_failed" not in codes
    assert all(0 <= f["gain"]["ratio"] <= 1 for f in summary["findings"] if f["gain"])


def test_mixed_precision_is_not_advised_where_it_is_used(told):
    name, summary = told
    advised = {f["rule"] for f in summary["findings"]}
    assert advised <= {rule.__name__ for rule in RULES}
    if name.startswith(("h100", "mi300", "b200", "a100")):  # bf16, fp8 or TF32 on matrix units
        assert "matrix_units" not in advised
