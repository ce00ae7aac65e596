"""The forms in which a trace can come: plain or gzip, with and without a header, cut, doubled, or none."""

import gzip
import random
import socket
import struct
import zlib
from pathlib import Path

import pytest

from stepscope.errors import StepscopeError
from stepscope.importers import bytes_source, import_file, json_scan
from stepscope.importers.bytes_source import ByteSource
from stepscope.schema import Window
from tests.builders import TraceBuilder

pytestmark = pytest.mark.usefixtures("both_readers")

TRACE = TraceBuilder(rank=1).step(5, 0, 100).op("aten::mm", 0, 50).kernel("sgemm", 10, 80, correlation=1)
EVENTS = TRACE.text().split('"traceEvents": ')[1].strip().removesuffix("}")


def load(tmp_path: Path, data: bytes | str, name: str = "trace.json") -> Window:
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return import_file(path)


def names(window: Window) -> list[str]:
    return [window.events.text(row) for row in range(len(window.events))]


def codes(window: Window) -> set[str]:
    return {note.code for note in window.notes}


WHOLE = ["ProfilerStep#5", "aten::mm", "sgemm"]


@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
@pytest.mark.parametrize("packed", [False, True])
def test_gzip_is_told_by_its_bytes(tmp_path: Path, name: str, packed: bool) -> None:
    window = import_file(TRACE.write(tmp_path / name, gzip=packed))
    assert names(window) == WHOLE
    assert codes(window) == set()


@pytest.mark.parametrize(
    "text",
    [
        EVENTS,
        '{"traceEvents": ' + EVENTS + "}",
        "\ufeff" + TRACE.text(),
        "\n\n  " + TRACE.text() + "\n\0\0\0",
        '{"traceEvents": ' + EVENTS + ', "deviceProperties": [{"id": 0, "name": "A"}, {"id": 1, "name": "B"}]}',
        TRACE.text().replace("}\n  ]", "},\n  ]"),
    ],
    ids=["bare list", "no header", "byte order mark", "padding", "header behind", "comma at the end"],
)
def test_forms_of_the_document(tmp_path: Path, text: str) -> None:
    window = load(tmp_path, text)
    assert names(window) == WHOLE
    assert codes(window) <= {"rank_unknown"}


def test_zlib_does_where_isal_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bytes_source, "inflate", zlib)
    assert names(import_file(TRACE.write(tmp_path / "t.json", gzip=True))) == WHOLE


def test_a_header_behind_the_events_counts(tmp_path: Path) -> None:
    info = '{"backend": "nccl","rank":3, "world_size": 4}'
    window = load(
        tmp_path, '{"traceEvents": ' + EVENTS + ', "distributedInfo": ' + info + ', "baseTimeNanoseconds": 7}'
    )
    assert (window.rank, window.world_size) == (3, 4)
    assert window.header["baseTimeNanoseconds"] == 7


def test_a_file_that_is_cut_before_its_first_event_is_said_to_be_cut(tmp_path: Path) -> None:
    data = gzip.compress(TRACE.json())
    for size in (12, 60):
        with pytest.raises(StepscopeError, match="its gzip data end early"):
            load(tmp_path, data[:size], "t.json.gz")


def test_two_gzip_members_are_one_file(tmp_path: Path) -> None:
    data = TRACE.json()
    window = load(tmp_path, gzip.compress(data[:700]) + gzip.compress(data[700:]))
    assert names(window) == WHOLE
    assert codes(window) == set()


@pytest.mark.parametrize("between", ["", "\n", "\n\n"])
def test_of_two_documents_the_first_is_read(tmp_path: Path, between: str) -> None:
    second = TraceBuilder().kernel("second", 0, 10)
    window = load(tmp_path, TRACE.text() + between + second.text())
    assert names(window) == WHOLE
    assert codes(window) == {"concatenated"}
    window = load(tmp_path, EVENTS + between + EVENTS)
    assert names(window) == WHOLE
    assert "concatenated" in codes(window)


def test_a_document_behind_a_cut_one_is_not_mixed_in(tmp_path: Path) -> None:
    cut = TRACE.text()[: TRACE.text().index('"correlation"')]
    window = load(tmp_path, cut + TraceBuilder().kernel("second", 0, 10).text())
    assert names(window) == WHOLE[:2]
    assert codes(window) == {"truncated", "concatenated"}


def test_an_empty_list_is_a_trace_without_events(tmp_path: Path) -> None:
    for text in (TraceBuilder(rank=0).text(), '{"traceEvents": []}', "[]"):
        window = load(tmp_path, text)
        assert len(window.events) == 0
        assert "no_events" in codes(window)


def test_a_half_uploaded_gzip_is_kept_up_to_the_cut(tmp_path: Path) -> None:
    trace = TraceBuilder(rank=0)
    for i in range(2000):
        trace.kernel(f"kernel {i * 7919 % 1000}", 4 * i, 3, correlation=i)
    packed = gzip.compress(trace.json())
    window = load(tmp_path, packed[: len(packed) * 6 // 10], "t.json.gz")
    assert codes(window) == {"truncated"}
    kept = len(window.events)
    assert 500 < kept < 2000
    assert window.events.correlation.tolist() == list(range(kept))


def test_bytes_before_a_fault_inside_gzip_are_all_delivered(tmp_path: Path) -> None:
    chunks = [bytes([65 + i]) * 40_000 for i in range(5)]
    # A deflate block that is stored as it is: type, length, complement of the length, bytes.
    blocks = [b"\0" + struct.pack("<HH", len(chunk), len(chunk) ^ 0xFFFF) + chunk for chunk in chunks]
    blocks[3] = b"\0" + struct.pack("<HH", 40_000, 40_000) + chunks[3]
    (tmp_path / "t.gz").write_bytes(gzip.compress(b"")[:10] + b"".join(blocks))
    source = ByteSource(tmp_path / "t.gz")
    assert b"".join(source.pieces()) == b"".join(chunks[:3])
    assert source.damage is not None


def test_a_fault_that_unpacking_meets_ahead_of_reading_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However far the thread that unpacks is ahead: here it is done before reading begins."""
    noise = random.Random(1).randbytes(200_000)
    packed = gzip.compress(b"these are notes, no trace" + noise)
    assert len(packed) > 2 * bytes_source._PACKED_BYTES
    path = tmp_path / "t.json.gz"
    path.write_bytes(packed[:-20])
    monkeypatch.setattr(bytes_source, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(json_scan, "made_ahead", lambda blocks: iter(list(blocks)))
    with pytest.raises(StepscopeError) as refused:
        import_file(path)
    assert "does not begin like one;" in str(refused.value)


def test_a_wrong_checksum_loses_nothing(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(TRACE.json()))
    packed[-6] ^= 1
    window = load(tmp_path, bytes(packed))
    assert names(window) == WHOLE
    assert codes(window) == {"truncated"}


@pytest.mark.parametrize(
    "text",
    [
        "these are notes, no trace\n",
        "\n\nnotes",
        '{"a": 1}',
        "[1, 2, 3]",
        '[{"a": 1}, {"b": 2}]',
        "[" + ", ".join(['{"a": 1}'] * 5000) + "]",
        '"traceEvents"',
        "null",
        "PK\x03\x04 zip",
        '{"schemaVersion": 1, "deviceProp',
        '{"cpu": 1}\n{"cpu": 2}\n',
    ],
)
def test_what_is_no_trace_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    with pytest.raises(StepscopeError, match=r"trace\.json is not a profiler trace: .* expected a Chrome/Kineto trace"):
        load(tmp_path, text)


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(StepscopeError, match=r"nowhere\.json does not exist"):
        import_file(tmp_path / "nowhere.json")
    with pytest.raises(StepscopeError, match="is a folder"):
        import_file(tmp_path)
    with pytest.raises(StepscopeError, match="zero bytes"):
        load(tmp_path, b"")
    with pytest.raises(StepscopeError, match="cannot be opened"):
        import_file("bad\0name.json")


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "t.json"))
        with pytest.raises(StepscopeError, match="cannot be opened"):
            import_file(tmp_path / "t.json")
