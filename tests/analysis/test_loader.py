"""What is known of the loader, and samples a second."""

import numpy as np
import pytest

from stepscope.analysis.capture import merge
from stepscope.analysis.launches import link
from stepscope.analysis.loader import Loader, loader, with_shapes
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
        assert loader(self.calls("_SingleProcessDataLoaderIter"), told) == Loader(4, 16, "its DataLoader")
        assert loader(Events.empty(), told | {"batch_size": 32}) == Loader(4, 32, "the script")

    @pytest.mark.parametrize("odd", [None, "4", 2.5, True, -1])
    def test_odd_values_are_not_known(self, odd):
        assert loader(Events.empty(), {"loader": {"workers": odd}, "batch_size": odd}) == Loader(None, None)


class TestShapes:
    """Two steps of 100 ns; the operators of the forward pass come with the shapes of their inputs."""

    def found(self, *ops, then=()):
        table = Table()
        for start, mine in ((0, ops), (100, then or ops)):
            table.step(1 + start // 100, start, 100)
            for i, (name, shapes) in enumerate(mine):
                table.op(f"aten::{name}", start + 10 * i, 5).told(**{"Input Dims": shapes})
        capture = merge([table.events()])
        steps = find_steps(Events.empty(), capture, link(capture.events))
        known = with_shapes(Loader(None, None), capture.events, steps)
        return known.batch_size, known.batch_size_from

    def test_the_first_convolution_knows_best(self):
        image, weight, hidden = [32, 3, 224, 224], [64, 3, 7, 7], [[8, 512], [10, 512], [10]]
        found = self.found(("conv2d", [image, weight, [], []]), ("conv2d", [[8, 8, 8, 8], weight]), ("linear", hidden))
        assert found == (32, "the input shapes of aten::conv2d")

    def test_the_largest_embedding_since_positions_have_one_row(self):
        positions, words = [[512, 64], [1, 128], []], [[30_000, 64], [16, 128], []]
        tokens = ("linear", [[2048, 64], [64, 64]])
        found = self.found(("embedding", positions), ("embedding", words), tokens)
        assert found == (16, "the input shapes of aten::embedding")

    def test_a_linear_layer_where_there_is_nothing_else(self):
        assert self.found(("mm", [[7, 7], [7, 7]]), ("linear", [[64, 10], [5, 10]]))[0] == 64

    def test_sizes_that_differ_tell_nothing(self):
        assert self.found(("linear", [[64, 10]]), then=[("linear", [[63, 10]])]) == (None, None)

    @pytest.mark.parametrize("odd", [None, "32", [], [[]], [[[1, 2], [3]]], [["a", 2]], [[0, 10]]])
    def test_odd_shapes_tell_nothing(self, odd):
        assert self.found(("linear", odd)) == (None, None)

    def test_who_told_it_is_believed(self):
        told = Loader(0, 8, "the script")
        assert with_shapes(told, Events.empty(), find_steps(Events.empty(), merge([]), link(Events.empty()))) == told


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
