"""Level of detail against a pure-Python answer that looks at every slice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope import lod
from stepscope.lod import RowIndex

Slice = tuple[int, int]  # start, duration
Rectangle = tuple[int, int, int, int, int, int]  # row, start, end, count, busy, position of the longest


def brute_force(rows: list[list[Slice]], wanted: list[int], t0: int, t1: int, pixel: int) -> list[Rectangle]:
    """What the rows show, one slice at a time."""
    out = []
    for row in wanted:
        before = sum(len(r) for r in rows[:row])
        groups: list[list[int]] = []
        for i, (start, dur) in enumerate(rows[row]):
            if start >= t1 or start + max(dur, 1) <= t0:
                continue
            last = rows[row][groups[-1][-1]] if groups else None
            small = last is not None and last[1] < pixel and dur < pixel
            if small and last is not None and last[0] // pixel == start // pixel:
                groups[-1].append(i)
            else:
                groups.append([i])
        for group in groups:
            durations = [rows[row][i][1] for i in group]
            start, end = rows[row][group[0]][0], rows[row][group[-1]][0] + durations[-1]
            longest = group[durations.index(max(durations))]
            out.append((row, start, end, len(group), sum(durations), before + longest))
    return out


def index_of(rows: list[list[Slice]]) -> RowIndex:
    flat = [s for row in rows for s in row]
    ts, dur = (np.array([s[k] for s in flat], dtype=np.int64) for k in (0, 1))
    return RowIndex(ts, dur, np.cumsum([0] + [len(row) for row in rows]))


def shown(index: RowIndex, wanted: list[int], t0: int, t1: int, pixel: int) -> list[Rectangle]:
    r = index.view(np.array(wanted, dtype=np.int64), t0, t1, pixel)
    assert r.longest_ns.tolist() == index.dur_ns[r.longest].tolist()
    columns = (r.row, r.start_ns, r.end_ns, r.count, r.busy_ns, r.longest)
    return list(zip(*(c.tolist() for c in columns), strict=True))


def random_row(random: np.random.Generator, slices: int) -> list[Slice]:
    """Slices that do not overlap: instants, many short ones, a few long ones, some touching."""
    durations = np.where(
        random.random(slices) < 0.02, random.integers(500, 3000, slices), random.integers(0, 40, slices)
    )
    gaps = np.where(random.random(slices) < 0.3, 0, random.integers(0, 60, slices))
    starts = np.cumsum(np.maximum(durations, 1) + gaps) - np.maximum(durations, 1)
    return list(zip(starts.tolist(), durations.tolist(), strict=True))


def test_slices_of_a_pixel_stand_alone_and_smaller_ones_share_a_rectangle() -> None:
    rows = [[(0, 3), (4, 2), (7, 2), (10, 10), (21, 4), (26, 3)]]
    # pixels of 10: the first three start in pixel 0, then one of exactly a pixel, then two in pixel 2
    assert shown(index_of(rows), [0], 0, 30, 10) == [
        (0, 0, 9, 3, 7, 0),
        (0, 10, 20, 1, 10, 3),
        (0, 21, 29, 2, 7, 4),
    ]


def test_panning_does_not_regroup_what_stays_in_view() -> None:
    rows = [random_row(np.random.default_rng(1), 400)]
    index = index_of(rows)
    left, right = shown(index, [0], 1000, 9000, 100), shown(index, [0], 1537, 9537, 100)
    inner = [r for r in left if r[1] >= 1700 and r[2] < 8800]
    assert len(inner) > 20
    assert set(inner) <= set(right)


def test_a_slice_that_began_before_the_view_is_shown_whole() -> None:
    rows = [[(0, 100), (100, 0), (101, 5)]]
    assert shown(index_of(rows), [0], 50, 101, 1) == [(0, 0, 100, 1, 100, 0), (0, 100, 100, 1, 0, 1)]
    assert shown(index_of(rows), [0], 100, 101, 1) == [(0, 100, 100, 1, 0, 1)]
    assert shown(index_of(rows), [0], 106, 200, 1) == []


def test_no_rows_and_empty_rows_show_nothing() -> None:
    assert shown(index_of([]), [], 0, 10, 1) == []
    assert shown(index_of([[], [(3, 2)], []]), [0, 1, 2], 0, 10, 1) == [(1, 3, 5, 1, 2, 0)]


@pytest.mark.parametrize("crowded", [0, 4, 10**9], ids=["pixel edges", "both", "slice by slice"])
def test_random_views_equal_the_answer_that_looks_at_every_slice(crowded: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lod, "_CROWDED", crowded)
    random = np.random.default_rng(crowded % 97)
    for sizes in ([3000, 0, 1, 40, 700], [6000], [1, 1, 1], [0, 90] * 30):
        rows = [random_row(random, n) for n in sizes]
        index = index_of(rows)
        span = max(s + d for row in rows for s, d in row)
        for _ in range(60):
            t0, t1 = sorted(random.integers(-50, span + 50, 2).tolist())
            pixel = max(1, (t1 - t0) // int(random.choice([1, 3, 17, 50, 400])))
            wanted = [r for r in range(len(rows)) if random.random() < 0.8]
            assert shown(index, wanted, t0, t1, pixel) == brute_force(rows, wanted, t0, t1, pixel)


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 9)), max_size=12), min_size=1, max_size=3),
    st.integers(-5, 100),
    st.integers(0, 100),
    st.integers(1, 40),
)
def test_any_small_table(spans: list[list[Slice]], t0: int, length: int, pixel: int) -> None:
    rows = []
    for row in spans:
        at, slices = 0, []
        for gap, dur in row:
            slices.append((at + gap, dur))
            at += gap + max(dur, 1)
        rows.append(slices)
    wanted = list(range(len(rows)))
    expected = brute_force(rows, wanted, t0, t0 + length, pixel)
    assert shown(index_of(rows), wanted, t0, t0 + length, pixel) == expected


def test_large_times_do_not_overflow() -> None:
    day_ns = 86_400_000_000_000
    start = 1_796_000_000_000_000_000
    rows = [[(start + i * day_ns, day_ns // 2) for i in range(400)]]
    found = shown(index_of(rows), [0], start, start + 400 * day_ns, 400 * day_ns // 20)
    assert sum(r[3] for r in found) == 400
    assert sum(r[4] for r in found) == 200 * day_ns
    assert len(found) in (20, 21)


def test_totals_are_the_same_at_every_level_of_detail() -> None:
    rows = [random_row(np.random.default_rng(5), n) for n in (5000, 1, 800)]
    index = index_of(rows)
    end = max(s + max(d, 1) for row in rows for s, d in row)
    for pixel in (1, 7, 100, 5000, end):
        r = index.view(np.arange(3), 0, end, pixel)
        for i, row in enumerate(rows):
            assert r.count[r.row == i].sum() == len(row)
            assert r.busy_ns[r.row == i].sum() == sum(d for _, d in row)
            assert r.longest_ns[r.row == i].max() == max(d for _, d in row)
