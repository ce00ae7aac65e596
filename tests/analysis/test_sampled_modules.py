"""Modules in the sampled steps of the always-on stream."""

from stepscope.analysis.sampled_modules import SampledModule, sampled_modules
from stepscope.schema import Events, Kind
from tests.analysis.table import Table


def test_no_sample_is_not_measured():
    assert sampled_modules(Events.empty()) is None
    assert sampled_modules(Table().phase("forward", 0, 10).events()) is None


def test_totals_and_self_times_without_what_the_backward_pass_calls_anew():
    table = Table()
    for step, at in ((16, 0), (17, 1000)):
        table.phase("forward", at, 100)
        table.host(Kind.MODULE, "Net", at + 10, 80, step=step)
        table.host(Kind.MODULE, "0", at + 20, 30, step=step)
        table.host(Kind.MODULE, "0", at + 60, 20, step=step)
        table.phase("backward", at + 200, 100)
        table.host(Kind.MODULE, "0", at + 210, 50, step=step)
    table.host(Kind.MODULE, "1", 1081, 5, step=17)
    assert sampled_modules(table.events()) == [
        SampledModule("Net", 2, 2, 2 * 80, 2 * (80 - 30 - 20) - 5),
        SampledModule("0", 2, 4, 2 * (30 + 20), 2 * (30 + 20)),
        SampledModule("1", 1, 1, 5, 5),
    ]
