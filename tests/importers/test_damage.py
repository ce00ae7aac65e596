"""Damaged traces: text that is no valid JSON, records that are cut, bytes that were changed."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.errors import StepscopeError
from stepscope.importers import bytes_source, import_file, json_careful, json_scan
from stepscope.importers.json_repair import decode_text, repair_object, repair_scalars
from stepscope.schema import Window
from tests.builders import TraceBuilder

pytestmark = pytest.mark.usefixtures("both_readers")


def built(count: int = 12) -> TraceBuilder:
    trace = TraceBuilder(rank=1)
    for i in range(count):
        trace.op(f"aten::op{i}", 10 * i, 5, external_id=i, **{"Input Dims": [[i, 2], []], "Call stack": 'a "q" \\ b'})
        trace.launch(10 * i + 1, 2, correlation=100 + i)
        trace.kernel(f"void k{i}<int, {{lambda()#1}}>(a, b)", 10 * i + 3, "6.125", correlation=100 + i, grid=[1, 1, 1])
    return trace


def load(path: Path, data: bytes | str) -> Window:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return import_file(path)


def names(window: Window) -> list[str]:
    return [window.events.text(row) for row in range(len(window.events))]


def codes(window: Window) -> dict[str, int]:
    return {note.code: note.count for note in window.notes}


def with_name(name: bytes) -> bytes:
    text = TraceBuilder(rank=0).op("before", 0, 1).kernel("NAME", 5, 3, correlation=9).op("after", 9, 1).json()
    return text.replace(b"NAME", name)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (rb"C:\Users\data\fit.py", r"C:\Users\data\fit.py"),
        (b"two\nlines\x01", "two\nlines\x01"),
        (b"latin \xe9", "latin \ufffd"),
        (b'say "hello"', 'say "hello"'),
        (b'f("a", b)', 'f("a", b)'),
        (rb"C:\dir\\"[:-1], "C:\\dir\\"),
        (rb"lone \ud800 surrogate", "lone ? surrogate"),
    ],
)
def test_names_are_repaired(tmp_path: Path, written: bytes, read: str) -> None:
    window = load(tmp_path / "t.json", with_name(written))
    assert names(window) == ["before", read, "after"]
    assert window.events.dur_ns.tolist() == [1000, 3000, 1000]
    assert window.events.correlation[1] == 9
    assert codes(window) == {"repaired_text": 1}


def test_a_windows_path_in_the_header_is_repaired(tmp_path: Path) -> None:
    text = TraceBuilder(rank=0).op("a", 0, 1).text()
    window = load(tmp_path / "t.json", text.replace("{\n", '{\n  "traceName": "C:\\Users\\data\\fit.json",\n', 1))
    assert window.header["traceName"] == r"C:\Users\data\fit.json"
    assert window.rank == 0
    assert codes(window) == {"repaired_text": 1}


def test_a_header_holds_only_what_json_and_files_can_hold(tmp_path: Path) -> None:
    text = TraceBuilder(rank=0).op("a", 0, 1).text()
    odd = '"a": 1e999, "b": NaN, "c": "x\\ud800", "d": [1.5, 2],'
    header = load(tmp_path / "t.json", text.replace("{\n", "{\n" + odd, 1)).header
    assert {name: header[name] for name in "abcd"} == {"a": None, "b": None, "c": "x?", "d": [1.5, 2]}


def test_bare_words_in_place_of_numbers(tmp_path: Path) -> None:
    text = TraceBuilder(rank=0).op("before", 0, 1).kernel("k", 5, 3, occupancy=0.5).op("after", 9, 1).text()
    window = load(tmp_path / "t.json", text.replace("0.5", "nan"))
    assert names(window) == ["before", "k", "after"]
    assert window.events.args_of(1) == {"occupancy": None}
    window = load(tmp_path / "t.json", text.replace('"dur": 3', '"dur": -Infinity'))
    assert names(window) == ["before", "after"]
    assert codes(window) == {"repaired_text": 1, "invalid_duration": 1}


def test_the_last_of_equal_members_counts(tmp_path: Path) -> None:
    text = TraceBuilder(rank=0).op("a", 0, 1).text().replace('"name": "a"', '"name": "x", "name": "a"')
    assert names(load(tmp_path / "t.json", text)) == ["a"]


def test_every_event_before_a_cut_is_kept(tmp_path: Path) -> None:
    data = built().json()
    ends = [end for end in range(len(data)) if data[end : end + 2] == b"}\n" or data[end : end + 3] == b"},\n"]
    lines = [line for line in data.split(b"\n") if line.startswith(b"    {")]
    first = data.index(lines[0])
    for cut in range(first, len(data), 37):
        whole = sum(1 for end in ends if first < end < cut and b'"ph": "X"' in data[data.rindex(b"\n", 0, end) : end])
        window = load(tmp_path / "t.json", data[:cut])
        assert len(window.events) == whole
        assert codes(window).get("truncated") == 1


@settings(max_examples=100)
@given(
    st.integers(0, 10**6),
    st.sampled_from(("change", "remove", "insert")),
    st.binary(min_size=1, max_size=3) | st.sampled_from([b"{", b"}", b"[", b"]", b'"', b",", b"\\", b"\n", b"\0"]),
    st.sampled_from([900, 4 << 20]),
)
def test_a_damaged_event_costs_only_itself(
    tmp_path_factory: pytest.TempPathFactory, place: int, how: str, new: bytes, block_bytes: int
) -> None:
    data = built().json()
    lines = data.split(b"\n")
    first = next(i for i, line in enumerate(lines) if line.startswith(b"    {"))
    start = sum(len(line) + 1 for line in lines[:first])
    at = start + place % (len(data) - start)
    after = at if how == "insert" else at + len(new)
    damaged = data[:at] + (b"" if how == "remove" else new) + data[after:]
    touched = {data.count(b"\n", 0, at), data.count(b"\n", 0, min(after, len(data) - 1))}
    expected = Counter(
        json.loads(line.rstrip(b","))["name"]
        for i, line in enumerate(lines)
        if b'"ph": "X"' in line and i not in touched
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bytes_source, "BLOCK_BYTES", block_bytes)
        window = load(tmp_path_factory.mktemp("damage") / "rank1.json", damaged)
    assert not expected - Counter(names(window))


@settings(max_examples=60)
@given(st.data())
def test_no_bytes_raise_anything_but_our_error(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    text = bytearray(built(3).json())
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=6))
    try:
        window = load(tmp_path_factory.mktemp("bytes") / "t.json", bytes(text))
    except StepscopeError:
        return
    json.dumps(window.meta(), allow_nan=False).encode()
    for row in range(len(window.events)):
        window.events.text(row).encode()
        window.events.args_of(row)
    window.events.to_table()


def test_deep_nesting_is_no_recursion_error(tmp_path: Path) -> None:
    text = built(2).text().replace('"grid": [1, 1, 1]', '"grid": ' + "[" * 100_000 + "]" * 100_000, 1)
    window = load(tmp_path / "t.json", text)
    assert len(window.events) >= 5


@pytest.mark.parametrize("garbage", [b"\0", b'{"', b'"' + b"a" * 1000, b'[{"a":', bytes(range(14, 250))])
def test_a_long_stretch_of_garbage_costs_neither_memory_nor_what_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, garbage: bytes
) -> None:
    # 8 kB in place of the 64 MB that an event may have: garbage of 100 kB is then skipped in many pieces
    monkeypatch.setattr(json_scan, "_EVENT_BYTES", 8 << 10)
    monkeypatch.setattr(json_scan, "_TAIL_BYTES", 1 << 10)
    monkeypatch.setattr(json_careful, "_REPAIR_BYTES", 2 << 10)
    monkeypatch.setattr(bytes_source, "BLOCK_BYTES", 4 << 10)
    head, tail = built(3).json(), TraceBuilder().op("after", 900, 1).json()
    event = tail[tail.index(b'{"ph"') :]
    cut = head.rindex(b"}", 0, head.rindex(b"]")) + 1
    before = load(tmp_path / "before.json", head[:cut])
    window = load(tmp_path / "t.json", head[:cut] + b"," + garbage * (100_000 // len(garbage)) + b"," + event)
    assert names(window) == [*names(before), "after"]
    assert "damaged_event" in codes(window) or garbage == b"\0"


def test_events_that_nest_objects_survive_damage_around_them(tmp_path: Path) -> None:
    inner = {"list": [{"name": "x", "ts": 3}, {"name": "y"}], "p": 1}
    text = TraceBuilder(rank=0).op("a", 0, 1, **inner).op("b", 2, 1, **inner).op("c", 4, 1, **inner).text()
    window = load(tmp_path / "t.json", text.replace('"name": "b"', '"name": "b\n"'))
    assert names(window) == ["a", "b\n", "c"]
    assert window.events.args_of(1) == inner


class TestRepair:
    def test_a_valid_object_is_left_as_it_is(self) -> None:
        text = b'{"a": [1, -2.5e3, {"b": null}], "c": "\\"\\\\ \\u0041", "d": {}, "e": [], "f": true}'
        repaired = repair_object(text + b" , tail")
        assert json.loads(repaired.text) == json.loads(text)
        assert (repaired.end, repaired.complete, repaired.repairs) == (len(text), True, 0)

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            (b'{"a": 1 "b": 2}', {"a": 1, "b": 2}),
            (b'{"a": 1,, "b": 2,}', {"a": 1, "b": 2}),
            (b'{"a": [1, 2}', {"a": [1, 2]}),
            (b'{"a": NaN, "b": tru}', {"a": None, "b": None}),
            (b'{"a": 1., "b": +5}', {"a": "1.", "b": "+5"}),
            (b'{"dir": "C:\\data\\", "pid": 1}', {"dir": "C:\\data\\", "pid": 1}),
            (b'{"a": "x "y", z", "b": 1}', {"a": 'x "y", z', "b": 1}),
            (b'{"a": 1, oops "b": 2}', {"a": 1, "b": 2}),
        ],
    )
    def test_what_is_put_right(self, text: bytes, value: object) -> None:
        repaired = repair_object(text)
        assert json.loads(repaired.text) == value
        assert repaired.complete

    def test_scalars_are_repaired_where_the_brackets_are_sound(self) -> None:
        text = rb'{"p": "C:\Users", "n": NaN, "s": "\": NaN, ", "t": "a' + b'\n"}'
        repaired, count = repair_scalars(text)
        assert json.loads(repaired) == {"p": r"C:\Users", "n": None, "s": '": NaN, ', "t": "a\n"}
        assert count == 3

    def test_an_object_that_ends_early_is_incomplete(self) -> None:
        repaired = repair_object(b'{"a": 1, "b": [2, {"c": "x')
        assert not repaired.complete
        assert json.loads(repaired.text) == {"a": 1, "b": [2, {"c": "x"}]}

    @given(st.binary(max_size=60))
    def test_the_result_is_always_valid(self, tail: bytes) -> None:
        json.loads(repair_object(b"{" + tail).text)
        json.loads(repair_object(b'{"ph": "X", "a": [1, {"b": "' + tail).text)

    @given(st.text(alphabet=st.characters(), max_size=20))
    def test_texts_come_back(self, text: str) -> None:
        clean = text.encode("utf-8", "replace").decode()
        assert decode_text(json.dumps(clean).encode()) == (clean, False)
