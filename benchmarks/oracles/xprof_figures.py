"""Prints xprof's figures for one XPlane file as JSON: step and input times in ms, kernel counts and times in us, and of
HLO operations self time in us, MFLOP and MB of one event, and FLOP/byte.

Runs with a Python that has xprof, not stepscope. The tool writes beside the file that it reads, so it gets a copy.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from xprof.convert import raw_to_tool_data


def table(data: dict, *columns: str) -> list[list]:
    """Rows of a table in Google's chart format, only these columns."""
    at = [[c["id"] for c in data["cols"]].index(name) for name in columns]
    return [[row["c"][i]["v"] for i in at] for row in data["rows"]]


def read(path: Path, tool: str) -> dict | list:
    data, _ = raw_to_tool_data.xspace_to_tool_data([str(path)], tool, {"use_saved_result": False})
    return json.loads(data)


def figures(path: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "host.xplane.pb"
        shutil.copyfile(path, copy)
        steps = next(t for t in read(copy, "input_pipeline_analyzer") if any(c["id"] == "stepnum" for c in t["cols"]))
        kernels = read(copy, "kernel_stats")
        by_name: dict[str, list[float]] = {}
        for name, count, total in table(kernels, "kernel_name", "occurrences", "total_duration_us"):
            entry = by_name.setdefault(name, [0, 0.0])
            entry[0] += int(count)
            entry[1] += total
    hlo = {}
    columns = ("program_id", "hlo_op_name", "occurrences", "total_self_time", "model_flop_rate", "measured_memory_bw")
    for program, name, count, own, flop_rate, rate in table(read_hlo(path), *columns):
        of_one = own * 1e-6 / count
        hlo[f"{program} {name}"] = [own, flop_rate * 1e3 * of_one, rate * 2**30 / 1e6 * of_one]
    times = table(steps, "stepnum", "stepTimeMs", "infeedTimeMs")
    numbered = {str(int(label.split()[-1])): values for label, *values in times}
    return {"steps": numbered, "kernels": by_name, "hlo": hlo}


def read_hlo(path: str) -> dict | list:
    """From a copy of its own: the programs that a tool unpacks beside a file must not be those of an earlier one."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "host.xplane.pb"
        shutil.copyfile(path, copy)
        return read(copy, "hlo_stats")


if __name__ == "__main__":
    print(json.dumps(figures(sys.argv[1])))
