"""Order, verdict, thresholds, rules of others, and that missing numbers silence rules instead of breaking them."""

import json
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.analysis.trust import TOPICS
from stepscope.errors import StepscopeError
from stepscope.rules import Case, Finding, Parameters, find, of_run, registry, straggler, verdict
from stepscope.rules.finding import Gain
from stepscope.runs import open_run
from stepscope.summary import summarize
from tests.rules.cases import case_of, found_in, trace, work


def finding(rule="r", severity="warning", gain=0.1, **more):
    return Finding(rule, severity, f"{rule} is slow.", {}, ["do"], gain and Gain(1, gain, "f"), **more)


def slow(built, at, number):
    built.dataloader(at, 300)
    built.memory(at + 1, 10, device=0, total=10)
    work(built, at, number, begin=320, end=500, name="ampere_sgemm_128x64_nn")
    built.op("aten::mm", at + 305, 20)
    built.launch(at + 510, 5, number * 7 + 9000, name="cudaMemcpyAsync")
    built.memcpy("HtoD", at + 520, 100, bytes=100, correlation=number * 7 + 9000)
    built.runtime("cudaStreamSynchronize", at + 530, 100)


SLOW = case_of(trace(slow))


def _pageable(ns):
    return {"direction": "HtoD", "source": "pageable", "count": 1, "time_ns": ns, "bytes_per_s": None}


class TestOrder:
    def test_severity_then_gain_times_confidence_then_confidence(self):
        found = [
            finding("a", "info", 0.9),
            finding("b", "warning", 0.2, confidence="low"),
            finding("c", "warning", 0.1, confidence="high"),
            finding("d", "critical", None),
        ]
        assert [f.rule for f in of_run([found], None)] == ["d", "c", "b", "a"]

    def test_several_workers_share_a_finding(self):
        by_worker = [[finding("a", gain=g, workers=[f"w{i}"])] for i, g in enumerate([0.1, 0.3, 0.2])]
        (told,) = of_run(by_worker, None)
        assert told.gain.ratio == 0.3
        assert told.workers == ["w1", "w0", "w2"]
        assert told.message == "a is slow (the worst of 3 workers)."

    def test_the_worst_is_none_whose_file_ends_early(self):
        cut = finding("a", gain=0.9, workers=["cut"], weakened_by=["truncated"])
        (told,) = of_run([[cut], *([finding("a", gain=g, workers=[f"w{g}"])] for g in (0.1, 0.2))], None)
        assert (told.gain.ratio, told.workers) == (0.2, ["w0.2", "cut", "w0.1"])
        assert told.message == "a is slow (the worst of 2 workers)."
        assert told.counter_evidence == ["Not told here: 1 more worker of which the file ends early."]
        (alone,) = of_run([[cut]], None)
        assert (alone.gain.ratio, list(alone.counter_evidence)) == (0.9, [])

    def test_of_many_workers_few_are_named(self):
        (told,) = of_run([[finding("a", workers=[f"w{i}"])] for i in range(512)], None)
        assert len(told.workers) + told.more_workers == 512


class TestVerdict:
    def test_the_first_warning_is_the_verdict(self):
        told = verdict([finding("a")], [None])
        assert (told.sentence, told.severity, told.rule) == ("a is slow.", "warning", "a")

    def test_without_anything_measured(self):
        told = verdict([finding("a", "info")], [None], noted=True)
        assert (told.severity, told.rule) == ("unknown", None)
        assert "notes on data quality" in told.sentence


class TestRobust:
    @given(st.sets(st.sampled_from(sorted(SLOW.worker))), st.booleans(), st.booleans())
    @settings(max_examples=60, deadline=None)
    def test_what_is_missing_silences_rules_and_breaks_none(self, missing, without_steps, without_phases):
        worker = {key: None if key in missing else value for key, value in SLOW.worker.items()}
        gone = {"phases": None} if without_phases or without_steps else {}
        gone |= {"steps": None, "activity": None} if without_steps else {}
        found_in(replace(SLOW, worker=worker, **gone))

    def test_an_empty_worker(self):
        assert found_in(Case({})) == {}

    def test_what_rules_tell_is_plain_data_and_rests_on_known_topics(self):
        found = found_in(SLOW).values()
        assert len(found) > 2
        for one in found:
            plain = json.loads(json.dumps(one.to_dict(), allow_nan=False))
            assert plain == one.to_dict()
            assert Finding.from_dict(plain).to_dict() == plain
            assert set(one.rests_on) <= set(TOPICS)
            assert one.message.endswith(".")
            assert one.fix
            assert one.gain is None or 0 <= one.gain.ratio <= 1

    @pytest.mark.parametrize("case", [SLOW, case_of(trace(work)), case_of(trace())])
    def test_no_rule_fails_where_every_threshold_is_0(self, case):
        found_in(replace(case, limits=Parameters().with_text([f"{f.name}=0" for f in fields(Parameters)])))

    def test_no_gain_exceeds_the_step(self):
        beside = SLOW.worker | {"memory_operations": [_pageable(ns=2 * SLOW.deep.ns)]}  # on two streams at once
        assert found_in(replace(SLOW, worker=beside))["pageable_copies"].gain.ns_per_step == 1_000_000

    def test_idle_time_is_told_once(self):
        parts = SLOW.idle_for_input_ns + SLOW.idle_for_sync_ns + SLOW.idle_for_host_ns + SLOW.idle_for_others_ns
        assert parts <= SLOW.activity_ns("idle")


class TestRulesOfOthers:
    def test_a_rule_that_fails_leaves_a_sentence_and_the_others_stand(self):
        def broken(case):
            raise KeyError("x")

        found = find(SLOW, [broken, lambda case: finding("mine")])
        assert [f.rule for f in found.findings] == ["mine"]
        assert found.failed == ["The rule broken failed (KeyError: 'x')."]

    def test_a_failed_rule_is_a_note_of_the_worker(self, tmp_path, monkeypatch):
        def broken(case):
            raise ValueError("odd")

        monkeypatch.setattr("stepscope.rules.engine.added_rules", lambda: (broken,))
        run = open_run(trace(work).write(tmp_path / "rank0.pt.trace.json"))
        (worker,) = summarize(run)["workers"]
        assert [(n["code"], n["detail"]) for n in worker["quality"]] == [
            ("rule_failed", "The rule broken failed (ValueError: odd).")
        ]

    def test_entry_points_add_rules(self, monkeypatch):
        class Entry:
            name, value = "mine", "package:mine"

            def __init__(self, rule):
                self.load = rule

        def missing():
            raise ImportError("package")

        mine = lambda case: finding("mine")  # noqa: E731
        monkeypatch.setattr(registry, "entry_points", lambda group: [Entry(missing), Entry(lambda: mine)])
        registry.added_rules.cache_clear()
        assert registry.added_rules() == (mine,)
        registry.added_rules.cache_clear()


class TestParameters:
    def test_thresholds_by_name(self):
        limits = Parameters().with_text(["input_warning=0.9", "input_critical=0.95", "patience_samples=7"])
        assert limits.patience_samples == 7
        assert "input_bound" in found_in(SLOW)
        assert "input_bound" not in found_in(replace(SLOW, limits=limits))

    @pytest.mark.parametrize("text", ["nothing=1", "input_warning", "input_warning=much", "input_warning=-1"])
    def test_what_is_none_is_an_error(self, text):
        with pytest.raises(StepscopeError, match=r"input_warning|docs/rules\.md"):
            Parameters().with_text([text])


class TestStraggler:
    def run(self, tmp_path, extra_us, ranks=range(4)):
        def body(us):
            def at_step(built, at, number):
                work(built, at, number, end=500 + us)
                correlation = number * 10 + 5
                built.launch(at + 15, 5, correlation)
                where = {"stream": 20, "correlation": correlation}
                built.kernel("ncclDevKernel_AllReduce_Sum_f32", at + 500 + us, 490 - us, **where)

            return at_step

        for number, (rank, us) in enumerate(zip(ranks, [0, 0, extra_us, 0], strict=True)):
            built = trace(body(us), steps=20)
            built.header["distributedInfo"]["rank"] = rank
            built.write(tmp_path / f"rank{number}.pt.trace.json")
        return summarize(open_run(tmp_path))

    def test_the_rank_that_computes_longer_is_named(self, tmp_path):
        told = next(f for f in self.run(tmp_path, 300)["findings"] if f["rule"] == "straggler")
        assert told["message"].startswith("Rank 2 holds up the other 3 workers: it is the slowest in 100.0 %")
        assert told["workers"] == ["rank2.pt.trace.json"]
        assert told["gain"]["ns_per_step"] == 225_000  # 300 us beyond three others: 300 - 300/4

    @pytest.mark.parametrize(("about", "counts"), [("rank2", True), ("rank1", False)])
    def test_what_a_ranks_data_lack_weakens_that_it_is_named(self, tmp_path, about, counts):
        summary = self.run(tmp_path, 300)
        notes = {"code": "truncated", "count": 1, "detail": "..."}
        workers = [{**w, "quality": [notes] if about in w["worker"] else []} for w in summary["workers"]]
        (told,) = (f for f in of_run([], summary["across_workers"], workers=workers) if f.rule == "straggler")
        assert told.weakened_by == (["truncated"] if counts else [])
        assert told.confidence == ("medium" if counts else "high")
        assert ("Read the times of rank2.pt.trace.json with care (truncated)." in told.counter_evidence) == counts

    def test_equal_ranks(self, tmp_path):
        assert "straggler" not in {f["rule"] for f in self.run(tmp_path, 0)["findings"]}

    def test_recordings_of_one_rank_wait_for_nobody(self, tmp_path):
        assert "straggler" not in {f["rule"] for f in self.run(tmp_path, 300, ranks=[0] * 4)["findings"]}

    def test_one_worker(self):
        assert straggler(None, Parameters()) is None
