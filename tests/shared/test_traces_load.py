"""Every recorded trace in ../shared/traces, compared with the plainest possible reading of the same file."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import numpy as np
import pytest

from stepscope.importers import import_file
from stepscope.schema import NONE, Kind

TRACES = Path(__file__).parents[2].parent / "shared" / "traces"
KINETO = sorted((TRACES / "kineto").glob("*.json.gz"))
XPLANE = sorted((TRACES / "xplane").glob("*.xplane.pb"))

pytestmark = pytest.mark.skipif(not TRACES.is_dir(), reason="no ../shared/traces here")

#: Prints the peak memory of its own address space; getrusage would count the parent's, as it was at the fork.
_MEASURE = """
import sys
from stepscope.importers import import_file
import_file(sys.argv[1])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def plain_reading(path: Path) -> list[tuple]:
    """(ts, dur, name, correlation, external id, pid, tid) of each slice and memory event."""
    trace = json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal)

    def ns(us: int | Decimal) -> int:
        return int((Decimal(us) * 1000).to_integral_value(ROUND_HALF_UP))

    rows = []
    for event in trace["traceEvents"]:
        if (event["ph"] == "X" and event["cat"] != "Trace") or event["name"] == "[memory]":
            args = event.get("args", {})
            external_id = args.get("External id", args.get("external id", NONE))
            rows.append(
                (
                    trace.get("baseTimeNanoseconds", 0) + ns(event["ts"]),
                    ns(event.get("dur", 0)),
                    event["name"],
                    args.get("correlation", NONE),
                    external_id,
                    str(event["pid"]),
                    str(event["tid"]),
                )
            )
    return rows


@pytest.mark.parametrize("path", KINETO, ids=lambda path: path.name.partition(".")[0])
def test_kineto_traces_are_read_exactly(path: Path) -> None:
    window = import_file(path)
    events = window.events
    read = zip(
        events.ts_ns.tolist(),
        events.dur_ns.tolist(),
        [events.names[name] for name in events.name],
        events.correlation.tolist(),
        events.external_id.tolist(),
        [events.lanes[lane].pid for lane in events.lane],
        [events.lanes[lane].tid for lane in events.lane],
        strict=True,
    )
    assert list(read) == plain_reading(path)
    assert {note.code for note in window.notes} <= {"rank_unknown"}
    assert window.framework == "pytorch"
    work = events.of_kind(Kind.KERNEL, Kind.COLLECTIVE, Kind.MEMCPY, Kind.MEMSET)
    assert (events.device[work] != NONE).all()
    assert (events.stream[work] != NONE).all()
    on_stream = np.array([lane.type == "stream" for lane in events.lanes])[events.lane]
    assert (on_stream[work]).all()


@pytest.mark.parametrize("path", XPLANE, ids=lambda path: path.name.partition(".")[0])
def test_xplane_files_load(path: Path) -> None:
    events = import_file(path).events
    kernels = events.of_kind(Kind.KERNEL)
    launches = events.correlation[events.of_kind(Kind.LAUNCH)]
    assert kernels.any()
    # ROCm runs a kernel of its own for a few calls that are no launch (hipStreamWaitEvent, hipLaunchHostFunc).
    assert np.isin(events.correlation[kernels], launches).mean() > 0.98


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from Linux's /proc")
def test_the_largest_trace_needs_little_memory() -> None:
    largest = TRACES / "kineto" / "v100_ddp_rank1of2.pt.trace.json.gz"
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(largest)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 400 << 10  # kB
