"""Steps without a marker of the framework: the user's numbered regions, and what repeats (times in ns)."""

import pytest

from stepscope.analysis.capture import merge
from stepscope.analysis.inferred_steps import CUSTOM_STEP, LOADER, LOADER_AND_OPTIMIZER, OPTIMIZER
from stepscope.analysis.launches import link
from stepscope.analysis.quality import step_notes
from stepscope.analysis.steps import find_steps
from stepscope.schema import NONE, Events, Kind
from tests.analysis.table import Table

FETCH = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def steps_of(*windows, live=None):
    capture = merge([w.events() for w in windows])
    return find_steps(live.events() if live else Events.empty(), capture, link(capture.events))


def spans(steps):
    return list(zip(steps.host_start_ns.tolist(), steps.host_end_ns.tolist(), steps.complete.tolist(), strict=True))


def fetch(table, ts, dur=5, tid=1):
    return table.host(Kind.DATALOADER, FETCH, ts, dur, tid)


def update(table, ts, dur=10, tid=1, name="Optimizer.step#SGD.step"):
    return table.host(Kind.ANNOTATION, name, ts, dur, tid)


class TestCustomSteps:
    @pytest.mark.parametrize(
        "name",
        ["step 3", "step_3", "step#3", "step-3", "step: 3", "step3", "Step 3", "## step 3 ##", "# step_3",
         "iteration 3", "train step 3", "train_step_3", "training step 3"],
    )  # fmt: skip
    def test_names_of_steps(self, name):
        assert CUSTOM_STEP.fullmatch(name)["number"] == "3"

    @pytest.mark.parametrize(
        "name",
        ["step", "train_step", "step 3 of 5", "my step 3", "step_a", "optimizer step 3", "epoch 3", "batch 3", "step -",
         "footstep 3", "substep_3", "step 3.5", "step 1e5", "## forward ##"],
    )  # fmt: skip
    def test_names_of_something_else(self, name):
        assert CUSTOM_STEP.fullmatch(name) is None

    def test_regions_with_rising_numbers_are_steps(self):
        table = Table()
        for i, number in enumerate((10, 11, 15)):
            table.host(Kind.ANNOTATION, f"step_{number}", i * 100, 80)
        steps = steps_of(table)
        assert steps.id.tolist() == [10, 11, 15]
        assert steps.label == ["step_10", "step_11", "step_15"]
        assert spans(steps) == [(0, 80, True), (100, 180, True), (200, 280, True)]
        assert not steps.inferred.any()

    def test_numbers_that_start_again_are_parts_of_something_else(self):
        table = Table()
        for i, number in enumerate((1, 2, 3, 1, 2, 3)):
            table.host(Kind.ANNOTATION, f"step {number}", i * 100, 80)
        assert len(steps_of(table)) == 0

    def test_markers_of_the_framework_win(self):
        table = Table().step(7, 0, 100).host(Kind.ANNOTATION, "step 1", 10, 50)
        assert steps_of(table).id.tolist() == [7]

    def test_in_the_always_on_stream_too(self):
        live = Table().host(Kind.ANNOTATION, "step 1", 0, 50).host(Kind.ANNOTATION, "step 2", 60, 50)
        steps = steps_of(live=live)
        assert steps.id.tolist() == [1, 2]
        assert steps.from_live.all()


class TestInferred:
    def loop(self, batches=4, fetches=1):
        """Each 100 ns: fetches, an operator, an update that ends at 95."""
        table = Table()
        for i in range(batches):
            for j in range(fetches):
                fetch(table, 100 * i + 20 * j)
                table.op("aten::mm", 100 * i + 20 * j + 6, 10)
            update(table, 100 * i + 85)
        return table

    def test_a_step_begins_with_the_fetch_behind_an_update(self):
        steps = steps_of(self.loop())
        # The first step is complete, since as many batches go into it as into the next one; the end of the last is
        # not known.
        assert spans(steps) == [(0, 100, True), (100, 200, True), (200, 300, True), (300, 395, False)]
        assert steps.inferred.all()
        assert steps.rule == LOADER_AND_OPTIMIZER
        assert steps.id.tolist() == [NONE] * 4

    def test_gradient_accumulation_is_one_step_of_several_batches(self):
        assert spans(steps_of(self.loop(3, fetches=3))) == [(0, 100, True), (100, 200, True), (200, 295, False)]

    def test_a_capture_that_begins_between_two_batches_of_a_step(self):
        table = self.loop(4, fetches=2)
        table.rows = table.rows[2:]  # without the first fetch and its operator
        assert spans(steps_of(table))[:2] == [(20, 100, False), (100, 200, True)]

    def test_without_a_loader_a_step_ends_with_an_update(self):
        table = Table()
        for i in range(3):
            table.op("aten::mm", 100 * i + 10, 20)
            update(table, 100 * i + 85)
        steps = steps_of(table)
        assert spans(steps) == [(10, 95, False), (95, 195, True), (195, 295, True)]
        assert steps.rule == OPTIMIZER

    def test_two_optimizers_in_a_row_end_one_step(self):
        table = Table()
        for i in range(3):
            table.op("aten::mm", 100 * i + 10, 20)
            update(table, 100 * i + 70)
            update(table, 100 * i + 85, name="Optimizer.step#Adam.step")
        assert spans(steps_of(table)) == [(10, 95, False), (95, 195, True), (195, 295, True)]

    def test_without_an_optimizer_a_step_begins_with_a_fetch(self):
        table = Table()
        for i in range(3):
            fetch(table, 100 * i)
            table.op("aten::mm", 100 * i + 10, 20)
        steps = steps_of(table)
        assert spans(steps) == [(0, 100, True), (100, 200, True), (200, 230, False)]
        assert steps.rule == LOADER

    def test_the_thread_with_the_most_repeats_is_the_loop(self):
        table = self.loop()
        fetch(table, 50, tid=2)
        assert spans(steps_of(table)) == spans(steps_of(self.loop()))

    def test_a_fetch_inside_a_fetch_is_no_other_one(self):
        table = self.loop()
        for i in range(4):
            fetch(table, 100 * i + 1, 2)
        assert spans(steps_of(table)) == spans(steps_of(self.loop()))

    def test_each_window_has_borders_of_its_own(self):
        first, second = self.loop(3), Table()
        for i in range(3):
            fetch(second, 5000 + 100 * i)
            update(second, 5000 + 100 * i + 85)
        assert spans(steps_of(first, second)) == [
            (0, 100, True), (100, 200, True), (200, 295, False),
            (5000, 5100, True), (5100, 5200, True), (5200, 5295, False),
        ]  # fmt: skip

    @pytest.mark.parametrize("table", [Table(), Table().op("aten::mm", 0, 10)])
    def test_nothing_that_repeats_is_no_step(self, table):
        steps = steps_of(table)
        assert len(steps) == 0
        assert steps.rule is None

    def test_one_update_is_no_repetition(self):
        assert len(steps_of(update(Table().op("aten::mm", 0, 10), 50))) == 0

    def test_one_fetch_is_no_repetition(self):
        assert len(steps_of(fetch(Table(), 0))) == 0

    def test_marked_steps_are_never_inferred(self):
        assert not steps_of(self.loop().step(1, 0, 100)).inferred.any()

    def test_device_work_extends_inferred_steps(self):
        table = self.loop().launch(110, 3, 1).kernel("k", 150, 100, 1)
        steps = steps_of(table)
        assert (steps.start_ns + steps.duration_ns).tolist()[:3] == [100, 250, 300]

    def test_the_notes_say_how(self):
        notes = {n.code: n for n in step_notes(steps_of(self.loop()), 100)}
        assert set(notes) == {"inferred_steps", "incomplete_step"}
        assert notes["inferred_steps"].count == 4
        assert LOADER_AND_OPTIMIZER in notes["inferred_steps"].detail
        assert notes["incomplete_step"].count == 1
