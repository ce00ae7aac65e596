"""Numbers and names in reports."""

import pytest

from stepscope.report import format as fmt


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1000, "1 us"),
        (1_234_567, "1.23 ms"),
        (12_345_678, "12.3 ms"),
        (999_999, "1,000 us"),
        (123_456_789, "123 ms"),
        (5_400_000_000_000, "5,400 s"),
        (None, "not measured"),
    ],
)
def test_time(ns, text):
    assert fmt.time(ns) == text


def test_units():
    assert fmt.size(42297786368) == "39.4 GiB"
    assert fmt.rate(1.048576e11) == "105 GB/s"
    assert fmt.percent(0.12345) == "12.3 %"
    assert fmt.percent(None) == "not measured"
    assert fmt.count(1, "step") == "1 step"
    assert fmt.count(2000, "step") == "2,000 steps"


def test_names_are_cut_and_safe():
    assert fmt.name("a\x1b[31m\n") == "a?[31m?"
    assert fmt.name("x" * 100, 10) == "xxxxxxx..."


def test_columns():
    assert fmt.table([["a", "1"], ["bcd", "20"]], right=(1,)) == ["  a     1", "  bcd  20"]
    assert fmt.table([]) == []
