"""Fetches and calls become steps."""

from stepscope_tf.host_steps import HostSteps


class Sink:
    def __init__(self):
        self.steps = []
        self.begun = 0
        self.cancelled = 0

    def begin(self, now):
        self.begun += 1
        return now

    def computed(self):
        pass

    def end(self, start_ns, end_ns, parts, complete):
        self.steps.append((start_ns, end_ns, parts, complete))

    def cancel(self):
        self.cancelled += 1


def batch(steps, at, fetch, call, gap=1):
    """A fetch, a gap and a call, as torch has them; returns when it is over."""
    steps.fetch_begin(at)
    steps.fetch_end(at + fetch, True)
    begin = at + fetch + gap
    steps.call_begin(begin, fetches_inside=False)
    steps.call_end(begin + call, True)
    return begin + call


def test_a_step_reaches_to_the_next_fetch_and_the_last_one_to_the_end_of_its_call():
    sink = Sink()
    steps = HostSteps(sink)
    batch(steps, 100, 10, 50)
    batch(steps, 200, 20, 50)
    steps.finish()
    assert sink.steps == [
        (100, 200, [("input_wait", 100, 110), ("compute", 111, 161)], True),
        (200, 271, [("input_wait", 200, 220), ("compute", 221, 271)], True),
    ]
    assert (sink.begun, sink.cancelled) == (2, 0)


def test_a_fetch_that_finds_the_end_is_no_step():
    sink = Sink()
    steps = HostSteps(sink)
    batch(steps, 100, 10, 50)
    steps.fetch_begin(200)
    steps.fetch_end(210, False)
    steps.finish()
    assert [step[:2] for step in sink.steps] == [(100, 200)]
    assert (sink.begun, sink.cancelled) == (2, 1)


def test_fetches_inside_one_call_part_its_steps():
    sink = Sink()
    steps = HostSteps(sink)
    steps.call_begin(100, fetches_inside=True)
    for at in (101, 200):
        steps.fetch_begin(at)
        steps.fetch_end(at + 9, True)
    steps.call_end(300, True)
    steps.finish()
    assert sink.steps == [
        (101, 200, [("input_wait", 101, 110), ("compute", 110, 200)], True),
        (200, 300, [("input_wait", 200, 209), ("compute", 209, 300)], True),
    ]


def test_a_call_that_is_given_its_batch_is_the_step():
    sink = Sink()
    steps = HostSteps(sink)
    for at in (100, 200):
        steps.call_begin(at, fetches_inside=False)
        steps.call_end(at + 50, True)
    steps.finish()
    assert sink.steps == [(100, 150, [("compute", 100, 150)], True), (200, 250, [("compute", 200, 250)], True)]


def test_an_exception_leaves_an_incomplete_step():
    sink = Sink()
    steps = HostSteps(sink)
    batch(steps, 100, 10, 50)
    steps.fetch_begin(200)
    steps.fetch_end(210, True)
    steps.call_begin(211, fetches_inside=False)
    steps.call_end(220, False)
    steps.finish()
    assert [(start, end, complete) for start, end, _, complete in sink.steps] == [(100, 200, True), (200, 220, False)]


def test_a_batch_that_is_fetched_and_not_trained_on_is_no_step():
    sink = Sink()
    steps = HostSteps(sink)
    steps.fetch_begin(100)
    steps.fetch_end(110, True)
    batch(steps, 200, 10, 50)
    steps.fetch_begin(300)
    steps.fetch_end(310, True)
    steps.finish()
    assert [step[:2] for step in sink.steps] == [(200, 300)]
    assert sink.cancelled == 2
