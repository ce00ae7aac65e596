"""Columns of the recorder's spans: one order, one numbering of the names."""

from __future__ import annotations

import numpy as np

from stepscope.live_columns import AlikeSteps, Names, Written, merged, of_regions, of_rows
from stepscope.schema import LIVE_SCHEMA, Kind
from stepscope.store.streams import StreamReader, StreamWriter

STEP, PHASE, ANNOTATION = int(Kind.STEP), int(Kind.PHASE), int(Kind.ANNOTATION)


def regions(names, *spans):
    """Annotations of (name, start, duration) in step 3 of thread 8."""
    numbers = np.array([[start, dur, 3, 8] for _, start, dur in spans], np.int64).T
    return of_regions([name for name, _, _ in spans], np.ascontiguousarray(numbers).tobytes(), names)


def test_a_step_and_its_phases_stay_together_between_the_annotations():
    names = Names()
    rows = of_rows(
        [
            (STEP, "step", 10, 90, 0, 8, None),
            (PHASE, "forward", 20, 30, 0, 8, None),
            (STEP, "step", 100, 50, 1, 8, "{}"),
        ],
        names,
    )
    whole = merged([rows, regions(names, ("early", 30, 5), ("late", 110, 5))])
    texts = names.texts()
    assert [texts[code] for code in whole.name.tolist()] == ["early", "step", "forward", "late", "step"]
    assert whole.args.tolist() == [None, None, None, None, "{}"]
    assert whole.start_ns.tolist() == [30, 10, 20, 110, 100]


def test_nothing_gives_nothing():
    assert merged([]) is None
    assert merged([regions(Names())]) is None


def test_names_of_any_kind_are_told_apart_by_their_text(tmp_path):
    names = Names()
    columns = regions(names, *[(name, 10 * i, 1) for i, name in enumerate([1, True, "1", [2], "bad \ud800", "ä"])])
    writer = StreamWriter(tmp_path / "live", LIVE_SCHEMA)
    writer.append_block(Written(columns).block(names, 1000))
    writer.close()
    read = StreamReader(tmp_path / "live", LIVE_SCHEMA).read().to_pydict()
    assert read["name"] == ["1", "True", "1", "[2]", "bad ?", "ä"]
    assert read["ts_ns"] == [1000, 1010, 1020, 1030, 1040, 1050]
    assert set(read["kind"]) == {ANNOTATION}
    assert (set(read["step"]), set(read["tid"]), set(read["args"])) == ({3}, {8}, {None})


def test_what_is_told_of_a_write():
    names = Names()
    rows = [(STEP, "step", 0, 9, 4, 8, None), (PHASE, "forward", 2, 3, 4, 8, None), (STEP, "step", 9, 1, 5, 8, "{}")]
    alike = AlikeSteps(
        7, [("input", 0, 1)], [(6, 2), (9, 1)], 3, np.array([[10, 11, 15], [15, 17, 21], [30, 31, 40]]).tobytes()
    )
    written = Written(merged([of_rows(rows, names), regions(names, ("mine", 1, 1))]), [alike])
    number, dur_ns = written.steps
    assert number.tolist() == [4, 6, 7, 9]  # of step 5 not all was seen
    assert dur_ns.tolist() == [9, 5, 6, 10]
    assert (written.rows, written.count(Kind.ANNOTATION), written.tids()) == (10, 1, {7, 8})
    assert Written(None, [alike]).tids() == {7}


def test_phases_are_left_out_from_a_step_on():
    names = Names()
    rows = [
        (STEP, "step", 0, 9, 4, 8, None),
        (PHASE, "forward", 2, 3, 4, 8, None),
        (PHASE, "forward", 9, 1, 7, 8, None),
    ]
    times = np.array([[10, 11, 15], [15, 17, 21], [30, 31, 40]])
    alike = AlikeSteps(7, [("input", 0, 1)], [(6, 2), (9, 1)], 3, times.tobytes())
    first, second = Written(None, [alike]).without_phases_from(7).alike
    assert (first.runs, first.phases, first.times.tolist()) == ([(6, 1)], [("input", 0, 1)], times[:1].tolist())
    assert (second.runs, second.phases) == ([(7, 1), (9, 1)], ())
    assert second.times.tolist() == [[15, 21], [30, 40]]
    left = Written(of_rows(rows, names), []).without_phases_from(7).spans
    assert left.step.tolist() == [4, 4]
    assert Written(None, [alike]).without_phases_from(6).rows == 3
    assert Written(None, [alike]).without_phases_from(10).rows == 6
