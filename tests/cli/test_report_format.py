"""Numbers and names in reports."""

import pytest

from stepscope.report import format as fmt
from stepscope.report import width


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1000, "1 µs"),
        (1_234_567, "1.23 ms"),
        (12_345_678, "12.3 ms"),
        (999_999, "1,000 µs"),
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


def test_a_table_is_as_wide_as_the_terminal():
    words = " ".join(["kernel"] * 20)
    rows = [["", "time", "share"], ["  " + words, "12.3 ms", "99.0 %"], ["short", "1 ms", "1.0 %"]]
    assert max(map(len, fmt.table(rows, right=(1, 2)))) > 150
    with width.fitted(70):
        lines = fmt.table(rows, right=(1, 2))
    assert max(map(len, lines)) == 70
    assert [line.endswith("%") for line in lines] == [False, True, *[False] * (len(lines) - 3), True]
    assert " ".join(lines).count("kernel") == 20


def test_long_lines_are_folded_with_their_indent():
    line = "  devices: " + "busy " * 30
    assert width.fold([line, ""]) == [line, ""]
    with width.fitted(10):  # bounded by the least
        folded = width.fold([line, ""])
    assert all(len(part) <= width.LEAST for part in folded)
    assert folded[1].startswith("      busy")
    assert " ".join(" ".join(folded).split()) == line.strip()
    assert width.columns() is None


@pytest.mark.parametrize(("columns", "told"), [("77", 77), (None, None)])
def test_what_is_no_terminal_has_no_width_but_the_one_demanded(monkeypatch, columns, told):
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    assert width.of_terminal() == told
