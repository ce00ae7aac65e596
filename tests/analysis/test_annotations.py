"""Durations of named regions and their distribution (ns)."""

from stepscope.analysis.annotations import Annotation, annotation_times, durations_of
from stepscope.schema import Events, Kind
from tests.analysis.table import Table

NOTHING = Events.empty()


def test_distribution_of_each_name():
    table = Table().host(Kind.ANNOTATION, "rare", 0, 7)
    for i in range(100):
        table.host(Kind.ANNOTATION, "load", 100 * i, i + 1)
    assert annotation_times(NOTHING, table.events()) == [
        Annotation("load", 100, 5050, 1, 50, 90, 99, 100),
        Annotation("rare", 1, 7, 7, 7, 7, 7, 7),
    ]


def test_the_always_on_stream_has_all_regions_and_the_windows_some():
    live = Table().host(Kind.ANNOTATION, "load", 0, 5).host(Kind.ANNOTATION, "load", 50, 9).events()
    deep = Table().host(Kind.ANNOTATION, "load", 51, 8).host(Kind.ANNOTATION, "deep", 60, 1).events()
    assert {a.name: (a.count, a.total_ns) for a in annotation_times(live, deep)} == {"load": (2, 14), "deep": (1, 1)}
    assert durations_of("load", live, deep).tolist() == [5, 9]
    assert durations_of("deep", live, deep).tolist() == [1]
    assert durations_of("none", live, deep).tolist() == []


def test_durations_of_other_kinds():
    table = Table().phase("forward", 0, 30).phase("forward", 50, 20).op("forward", 60, 1)
    assert durations_of("forward", NOTHING, table.events(), Kind.PHASE).tolist() == [30, 20]
    assert durations_of("forward", NOTHING, table.events()).tolist() == []
