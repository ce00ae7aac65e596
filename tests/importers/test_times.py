"""Times of Kineto traces: decimal text to Unix nanoseconds, exactly."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.importers.text_columns import parse_scaled, text_column
from tests.builders import BASE_NS, T0_NS, TraceBuilder

pytestmark = pytest.mark.usefixtures("both_readers")


def parse(*texts: str, decimals: int = 3) -> list[int | None]:
    values, valid = parse_scaled(text_column([text.encode() for text in texts]), decimals)
    return [int(v) if ok else None for v, ok in zip(values, valid, strict=True)]


def test_microseconds_become_nanoseconds() -> None:
    assert parse("0", "1", "20.001", "-3.5", "4458676500000.123") == [0, 1000, 20001, -3500, 4458676500000123]


def test_digits_beyond_the_nanosecond_are_rounded_half_away_from_zero() -> None:
    assert parse("0.0004", "0.0005", "-0.0005", "1.23449") == [0, 1, -1, 1234]


def test_epoch_microseconds_need_nineteen_digits() -> None:
    assert parse("1661938466265032", "1661938466265032.25") == [1661938466265032000, 1661938466265032250]


def test_quotes_exponents_and_bare_dots_are_read() -> None:
    assert parse('"12"', "1e3", "1.5E-1", "5.", ".5") == [12000, 1_000_000, 150, 5000, 500]


@pytest.mark.parametrize("text", ["", "null", "NaN", "Infinity", "abc", "1.2.3", "-", ".", '""', "1e400", "9" * 30])
def test_what_is_no_time_is_marked(text: str) -> None:
    assert parse(text) == [None]
    assert parse(text, "7") == [None, 7000]


def test_ids_keep_their_bits() -> None:
    assert parse("7", '"0x0"', "0x1f", "18446744073709551615", decimals=0) == [7, 0, 31, -1]


@given(st.lists(st.integers(-(10**18), 10**18), min_size=1))
def test_every_nanosecond_survives(nanoseconds: list[int]) -> None:
    texts = [f"{'-' * (n < 0)}{abs(n) // 1000}.{abs(n) % 1000:03d}" for n in nanoseconds]
    assert parse(*texts) == nanoseconds


def test_an_empty_column_has_no_values() -> None:
    values, valid = parse_scaled(pa.array([], pa.binary()), 3)
    assert len(values) == len(valid) == 0


def test_the_base_is_added() -> None:
    events = TraceBuilder().kernel("k", "0.001", "2.5").window().events
    assert events.ts_ns.tolist() == [T0_NS + 1]
    assert events.dur_ns.tolist() == [2500]


def test_without_a_base_times_are_unix_times() -> None:
    events = TraceBuilder(base_ns=None).kernel("k", "0.001", "2.5").window().events
    assert events.ts_ns.tolist() == [T0_NS + 1]


def test_unix_times_stay_so_beside_a_base() -> None:
    trace = TraceBuilder(base_ns=None).kernel("k", 5, 1)
    trace.header["baseTimeNanoseconds"] = BASE_NS
    assert trace.window().events.ts_ns.tolist() == [T0_NS + 5000]
