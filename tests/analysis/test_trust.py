"""What data quality notes weaken, and the sentence about it."""

from stepscope.analysis.quality import CODES
from stepscope.analysis.trust import LEFT_OUT, TOPICS, WEAKENS, trust
from stepscope.runs import open_run
from stepscope.schema import Note
from stepscope.summary import summarize
from tests.builders import TraceBuilder


def judged(*notes, events=1000):
    return trust([Note(code, count, "") for code, count in notes], events)


def test_every_code_is_judged():
    assert set(WEAKENS) == set(CODES)
    assert {topic for topics in WEAKENS.values() for topic in topics} <= set(TOPICS)
    assert set(CODES) >= LEFT_OUT


def test_every_field_is_one_of_the_summary(tmp_path):
    summary = summarize(open_run(TraceBuilder(rank=0).step(1, 0, 10).write(tmp_path / "x.pt.trace.json")))
    (worker,) = summary["workers"]
    for field in {f for fields in TOPICS.values() for f in fields}:
        name, _, inner = field.partition("[].")
        assert name in worker or name in summary, field
        assert not inner or inner in worker[name][0], field


def test_nothing_to_note():
    found = judged()
    assert found.sentence == "Nothing was left out, repaired or guessed: the numbers stand as recorded."
    assert (found.events_kept, found.events_left_out, found.weakens) == (1000, 0, [])


def test_events_left_out_are_counted():
    found = judged(("invalid_duration", 3), ("damaged_event", 2), ("launch_without_run", 9), events=1995)
    assert found.events_left_out == 5
    assert "5 of 2,000 events were left out" in found.sentence


def test_the_sentence_names_what_is_weak_and_why():
    assert judged(("rank_unknown", 1)).sentence == "Read the rank with care (rank unknown); no event was left out."
    assert judged(("clock_step", 1)).sentence == (
        "Read steps, phases and the time of day with care (clock step); no event was left out."
    )
    assert judged(("dropped_instants", 9), ("rank_unknown", 1)).sentence == (
        "Read the rank with care (rank unknown); only marks that take no time were left out."
    )
    assert judged(("missing_size", 7)).sentence == "Read memory with care (missing size); no event was left out."
    assert judged(("truncated", 1)).sentence == (
        "Read steps, step activity, phases, device times and others with care (truncated); no event was left out."
    )
    assert judged(("rank_unknown", 1), ("no_steps", 1)).sentence == (  # what weakens most first
        "Read steps, step activity, phases and the rank with care (no steps, rank unknown); no event was left out."
    )
    assert judged(("repaired_text", 4)).sentence == (
        "The numbers stand: no event was left out, and the notes (repaired text) weaken none of them."
    )


def test_each_note_tells_its_fields():
    found = judged(("nested_step", 2), ("repaired_text", 1))
    assert [(w.code, w.count, w.fields) for w in found.weakens] == [
        ("nested_step", 2, ["steps", "step_time_ns", "micro_step_time_ns"]),
        ("repaired_text", 1, []),
    ]


def test_a_code_of_another_version_weakens_everything():
    (weak,) = judged(("from_the_future", 1)).weakens
    assert set(weak.fields) == {f for fields in TOPICS.values() for f in fields}


def test_notes_of_the_run_are_judged_too(tmp_path):
    for name in ("a", "b"):
        TraceBuilder(rank=1).step(1, 0, 10).write(tmp_path / f"{name}.pt.trace.json")
    for worker in summarize(open_run(tmp_path))["workers"]:
        assert [w["code"] for w in worker["trust"]["weakens"]] == ["duplicate_rank"]
        assert "the rank" in worker["trust"]["sentence"]
