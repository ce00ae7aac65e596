"""Columns of the recorder's spans: one order, one numbering of the names."""

from __future__ import annotations

import numpy as np

from stepscope.live_columns import Names, live_table, merged, of_regions, of_rows
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
    with_names = live_table(columns, names, 1000)
    writer = StreamWriter(tmp_path / "live", LIVE_SCHEMA)
    writer.append(with_names)
    writer.close()
    read = StreamReader(tmp_path / "live", LIVE_SCHEMA).read().to_pydict()
    assert read["name"] == ["1", "True", "1", "[2]", "bad ?", "ä"]
    assert read["ts_ns"] == [1000, 1010, 1020, 1030, 1040, 1050]
    assert set(read["kind"]) == {ANNOTATION}
    assert (set(read["step"]), set(read["tid"]), set(read["args"])) == ({3}, {8}, {None})
