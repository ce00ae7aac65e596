"""What is known of the loader, and samples a second."""

import numpy as np
import pytest

from stepscope.analysis.capture import merge
from stepscope.analysis.launches import link
from stepscope.analysis.loader import Loader, loader
from stepscope.analysis.phases import MicroSteps
from stepscope.analysis.steps import find_steps
from stepscope.analysis.throughput import throughput
from stepscope.schema import NONE, Events, Kind
from tests.analysis.table import Table


class TestLoader:
    def calls(self, *names):
        table = Table()
        for i, name in enumerate(names):
            table.host(Kind.DATALOADER, f"enumerate(DataLoader)#{name}.__next__", i * 10, 5)
        return table.events()

    def test_its_class_tells_whether_there_are_workers(self):
        single, many = "_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter"
        assert loader(self.calls(single), {}) == Loader(0, None)
        assert loader(self.calls(many), {}) == Loader(None, None)
        assert loader(self.calls(single, many), {}) == Loader(None, None)

    def test_the_hook_knows_better_and_the_script_best(self):
        told = {"loader": {"workers": 4, "batch_size": 16}}
        assert loader(self.calls("_SingleProcessDataLoaderIter"), told) == Loader(4, 16)
        assert loader(Events.empty(), told | {"batch_size": 32}) == Loader(4, 32)

    @pytest.mark.parametrize("odd", [None, "4", 2.5, True, -1])
    def test_odd_values_are_not_known(self, odd):
        assert loader(Events.empty(), {"loader": {"workers": odd}, "batch_size": odd}) == Loader(None, None)


class TestThroughput:
    def steps(self):
        capture = merge([Table().step(1, 0, 100).step(2, 100, 300).events()])
        return find_steps(Events.empty(), capture, link(capture.events))

    def test_samples_by_the_time_of_the_steps(self):
        found = throughput(Loader(None, 8), self.steps(), None)
        assert found.samples_per_s == pytest.approx(16 / 400e-9)

    def test_each_micro_batch_counts(self):
        none = np.empty(0, np.int64)
        micro = MicroSteps(np.array([4, NONE]), none, none, none)
        assert throughput(Loader(None, 8), self.steps(), micro).samples_per_s == pytest.approx(8 * 5 / 400e-9)

    def test_not_measured_without_a_batch_size_or_steps(self):
        assert throughput(Loader(0, None), self.steps(), None) is None
        empty = find_steps(Events.empty(), merge([]), link(Events.empty()))
        assert throughput(Loader(0, 8), empty, None) is None
