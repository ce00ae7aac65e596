"""The C++ scanner and Python alone make the same of every file."""

from pathlib import Path

import pytest

from stepscope.importers import kineto_native
from tests.builders import TraceBuilder
from tests.importers.equality import differences, mutated, rich_trace

pytestmark = pytest.mark.skipif(not kineto_native.is_built(), reason="the C++ scanner was not built")


@pytest.mark.parametrize(("block_bytes", "count"), [(300, 40), (2000, 80), (4 << 20, 120)])  # small blocks are slow
def test_damaged_traces(tmp_path: Path, block_bytes: int, count: int) -> None:
    path = tmp_path / "rank1.json"
    for seed in range(count):
        path.write_bytes(mutated(seed))
        assert not differences(path, block_bytes), f"seed {seed}"


def test_more_distinct_texts_than_a_table_begins_with(tmp_path: Path) -> None:
    trace = TraceBuilder(rank=1)
    for i in range(700):
        trace.kernel(f"kernel {i * 7919 % 641} of a long name {i % 3}", 4 * i, 3, tag=f"{i % 599} " + "x" * (i % 40))
    path = trace.write(tmp_path / "rank1.json")
    assert not differences(path, 40_000)


def test_odd_members_are_read_by_the_scanner_itself(tmp_path: Path) -> None:
    """Valid but odd members must not send whole stretches back to Python."""
    trace = rich_trace(1)
    for args in (
        {"stream": "0x1f", "correlation": "7", "n": {"stream": 3}},
        {"correlation": 18446744073709551615, "bytes": 1.5},
        {'a"Ev Idx': 3, "External id": None},
        {"n": "x, {", "external id": 5},
    ):
        trace.event({"ph": "X", "cat": "kernel", "name": "odd", "pid": 0, "tid": 7}, "0.0005", "1.123456", args)
    text = trace.json().replace(b'"ts": 1,', b'"ts": 1e0,')
    path = tmp_path / "rank1.json"
    path.write_bytes(text)
    assert not differences(path)
    start = text.index(b"[", text.index(b'"traceEvents"')) + 1
    scan = kineto_native.native_scan()
    assert scan is not None
    rows = scan(text, start, text.rindex(b"]", 0, text.rindex(b"}")))
    assert rows is not None
    assert rows.seen == text.count(b'"ph":')
