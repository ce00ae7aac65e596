"""Durations of named regions and their distribution (ns)."""

from dataclasses import asdict

import pytest

from stepscope.analysis import annotations
from stepscope.analysis.annotations import Annotation, annotation_times, durations_of
from stepscope.schema import Events, Kind
from tests.analysis.table import Table

NOTHING = Events.empty()


def test_distribution_of_each_name():
    table = Table().host(Kind.ANNOTATION, "rare", 0, 7)
    for i in range(100):
        table.host(Kind.ANNOTATION, "load", 100 * i, i + 1)
    assert annotation_times(NOTHING, table.events())[0] == [
        Annotation("load", 100, 5050, 1, 50, 90, 99, 100),
        Annotation("rare", 1, 7, 7, 7, 7, 7, 7),
    ]


def test_the_always_on_stream_has_all_regions_and_the_windows_some():
    live = Table().host(Kind.ANNOTATION, "load", 0, 5).host(Kind.ANNOTATION, "load", 50, 9).events()
    deep = Table().host(Kind.ANNOTATION, "load", 51, 8).host(Kind.ANNOTATION, "deep", 60, 1).events()
    assert {a.name: (a.count, a.total_ns) for a in annotation_times(live, deep)[0]} == {"load": (2, 14), "deep": (1, 1)}
    assert durations_of("load", live, deep).tolist() == [5, 9]
    assert durations_of("deep", live, deep).tolist() == [1]
    assert durations_of("none", live, deep).tolist() == []


def test_names_beyond_the_longest_add_up_in_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    live, deep = Table(), Table()
    for i in range(4):
        live.host(Kind.ANNOTATION, f"request {i}", 100 * i, 10 + i)
        deep.host(Kind.ANNOTATION, f"deep {i}", 100 * i, 20 + i).host(Kind.ANNOTATION, f"deep {i}", 100 * i + 50, 1)
    whole, none, names = annotation_times(live.events(), deep.events())
    monkeypatch.setattr(annotations, "MOST_NAMES", 3)
    listed, others, still = annotation_times(live.events(), deep.events())
    assert none is None
    assert len(whole) == names == still == 8
    assert listed == whole[:3]
    assert [a.name for a in listed] == ["deep 3", "deep 2", "deep 1"]
    assert others == Annotation(None, 6, 20 + 1 + 10 + 11 + 12 + 13, 1, 11, 20, 20, 20)
    for field in ("count", "total_ns"):
        assert sum(asdict(a)[field] for a in [*listed, others]) == sum(asdict(a)[field] for a in whole)


def test_durations_of_other_kinds():
    table = Table().phase("forward", 0, 30).phase("forward", 50, 20).op("forward", 60, 1)
    assert durations_of("forward", NOTHING, table.events(), Kind.PHASE).tolist() == [30, 20]
    assert durations_of("forward", NOTHING, table.events()).tolist() == []
