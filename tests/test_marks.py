"""Marks in Python and in C++: the same answers to the same calls."""

from __future__ import annotations

import gc
import threading
import weakref
from array import array
from time import perf_counter_ns

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.hot import extension
from stepscope.marks import FAST, SAMPLED, SLOW, PythonMarks

MARKS = [PythonMarks] if extension is None else [PythonMarks, extension.Marks]


class Token:
    pass


#: A begin that each step has, and others; of one key there is an equal one that is another object, as slow marks make.
TOKEN = Token()
BEGIN, KEYS = (0, None), [(1, TOKEN), (9, TOKEN), (2, None)]


@pytest.fixture(params=MARKS, ids=lambda marks: marks.__module__.rpartition(".")[2])
def marks(request):
    marks = request.param()
    marks.thread = threading.get_ident()
    marks.until = 1000
    return marks


def learned(marks, number=0):
    """Steps of a begin and one key are expected, and the first of them has begun at 100."""
    marks.put(BEGIN, 100)
    marks.expect("pattern", [BEGIN, KEYS[0], BEGIN], number)


def times(taken):
    return [(pattern, first, list(array("q", data))) for pattern, first, data in taken]


def test_steps_with_the_expected_marks_are_kept_as_times(marks):
    learned(marks, number=7)
    for now in (110, 120):
        marks.put((1, TOKEN), now - 5)
        assert marks.next_step(now) == 7 + (now - 100) // 10
    assert marks.entries() == [BEGIN, 120]
    assert times(marks.take()) == [("pattern", 7, [100, 105, 110, 110, 115, 120])]
    assert marks.take() == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda marks: marks.put(KEYS[1], 106),
        lambda marks: marks.forget(),
        lambda marks: setattr(marks, "until", 7),
        lambda marks: setattr(marks, "limit", 0),
        lambda marks: setattr(marks, "thread", 1),
        lambda marks: marks.clear(),
        lambda marks: marks.expect("no step begins so", [BEGIN, KEYS[0], KEYS[2]], 7),
    ],
    ids=["another mark", "nothing expected", "not until then", "full", "another thread", "no marks", "another end"],
)
def test_any_other_step_has_to_be_looked_at(marks, spoil):
    learned(marks, number=7)
    marks.put(KEYS[0], 105)
    spoil(marks)
    before = marks.entries()
    assert marks.next_step(110) == 0
    assert (marks.entries(), marks.take()) == (before, [])


def test_steps_of_another_pattern_or_with_a_gap_are_kept_apart(marks):
    learned(marks)
    for number in (0, 1, 5):
        marks.expect("same" if number < 5 else "other", [BEGIN, BEGIN], number)
        marks.next_step(200 + number)
    assert [taken[:2] for taken in marks.take()] == [("same", 0), ("other", 5)]
    marks.expect("other", [BEGIN, BEGIN], 9)
    marks.next_step(300)
    marks.expect("other", [BEGIN, BEGIN], 11)
    marks.next_step(301)
    assert [taken[:2] for taken in marks.take()] == [("other", 9), ("other", 11)]


def test_begin_and_end_mark_by_themselves_in_the_fast_modes_only(marks):
    assert not marks.begin(KEYS[0])
    assert not marks.end(KEYS[1])
    assert not marks.end_step(KEYS[1])
    assert (len(marks), marks.at_once) == (0, False)
    marks.mode = FAST
    before = perf_counter_ns()
    assert marks.begin(KEYS[0])
    assert marks.end(KEYS[1])
    assert marks.end_step(KEYS[2])
    after = perf_counter_ns()
    assert marks.entries()[0::2] == KEYS
    assert before <= marks.entries()[1] <= marks.entries()[3] <= marks.entries()[5] <= after
    assert (marks.mode, marks.at_once, marks.sample_ns) == (SLOW, True, 0)


def test_another_thread_marks_no_begin(marks):
    marks.mode = FAST
    answers = []
    thread = threading.Thread(target=lambda: answers.extend([marks.begin(KEYS[0]), marks.end_step(KEYS[1])]))
    thread.start()
    thread.join()
    assert (answers, len(marks), marks.mode) == ([False, False], 0, FAST)


def test_ends_are_refused_where_nobody_looks_at_the_marks(marks):
    marks.mode = FAST
    assert sum(marks.end(KEYS[1]) for _ in range(1000)) == 256


def test_what_marking_takes_is_counted_in_sampled(marks):
    learned(marks)
    marks.calm_mode = SAMPLED
    marks.put(KEYS[0], 105)
    assert marks.next_step() == 1
    assert marks.mode == SAMPLED
    first = marks.sample_ns
    assert marks.begin(KEYS[0])
    assert 0 < first < marks.sample_ns


@pytest.mark.parametrize("wrong", [None, (1,), (1, 2, 3), [1, 2], 5])
def test_a_key_is_a_code_and_a_token(wrong):
    if extension is None:
        pytest.skip("the extension is not built")
    marks = extension.Marks()
    for call in (lambda: marks.put(wrong, 1), lambda: marks.expect("pattern", [wrong, wrong], 0)):
        with pytest.raises(TypeError):
            call()
    marks.mode = FAST
    marks.thread = threading.get_ident()
    with pytest.raises(TypeError):
        marks.begin(wrong)
    assert len(marks) == 0


@pytest.mark.parametrize("make", MARKS)
def test_a_cycle_through_a_key_is_collected(make):
    token = Token()
    token.marks = make()
    token.marks.put((1, token), 5)
    token.marks.expect(token, [(1, token), (1, token)], 0)
    gone = weakref.ref(token)
    del token
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("make", MARKS)
def test_a_pattern_that_goes_may_come_back_with_another(make):
    marks, others = make(), [Token()]
    gone = weakref.ref(others[0])

    class Last:
        def __del__(self):
            marks.expect(others.pop(), [BEGIN, BEGIN], 0)

    marks.expect(Last(), [BEGIN, BEGIN], 0)
    marks.expect("pattern", [BEGIN, KEYS[0], BEGIN], 0)
    assert others == []
    marks.forget()
    assert gone() is None


CALLS = st.one_of(
    st.tuples(st.just("put"), st.sampled_from([BEGIN, *KEYS, (1, TOKEN), (0, None)])),
    st.tuples(st.sampled_from(["begin", "end", "end_step"]), st.sampled_from(KEYS)),
    st.tuples(st.just("next_step")),
    st.tuples(st.just("expect"), st.lists(st.sampled_from([BEGIN, *KEYS]), max_size=3), st.integers(0, 3)),
    st.tuples(st.sampled_from(["forget", "clear", "take", "entries"])),
    st.tuples(st.just("mode"), st.sampled_from([SLOW, FAST, SAMPLED])),
    st.tuples(st.just("until"), st.integers(0, 4)),
)


@pytest.mark.skipif(extension is None, reason="the extension is not built")
@given(st.lists(CALLS, max_size=60))
def test_both_give_the_same_answers(calls):
    def play(marks):
        marks.thread = threading.get_ident()
        answers = []
        for now, (name, *arguments) in enumerate(calls):
            if name in ("mode", "until"):
                setattr(marks, name, arguments[0])
            elif name == "put":
                marks.put(arguments[0], now)
            elif name == "next_step":
                answers.append(marks.next_step(now))
            elif name == "expect":
                marks.expect("pattern", [BEGIN, *arguments[0], BEGIN], arguments[1])
            elif name == "take":
                answers.append([(pattern, first, len(data)) for pattern, first, data in marks.take()])
            elif name == "entries":
                answers.append(marks.entries()[0::2])
            else:
                answers.append(getattr(marks, name)(*arguments))
            answers.append((marks.mode, marks.at_once, len(marks)))
        return answers

    assert play(extension.Marks()) == play(PythonMarks())


def test_one_can_wait_for_a_mark(marks):
    marks.awaited = KEYS[2]
    found = []
    waiting = threading.Thread(target=lambda: found.append(marks.wait(60.0)))
    waiting.start()
    code, token = KEYS[2]
    for _ in range(20):
        marks.put((code, token), 1)  # an equal key, which is not the one that is waited for
        marks.put(KEYS[0], 2)
        waiting.join(0.001)
    assert not found
    while waiting.is_alive():
        marks.put(KEYS[2], 3)
        waiting.join(0.001)
    assert found == [True]
    assert marks.wait(0.0) is False  # those before do not count
