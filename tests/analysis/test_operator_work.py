"""FLOPs and bytes of PyTorch's products and convolutions, by arithmetic and as PyTorch's own counter has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stepscope.analysis.operator_work import Work, operator_work
from stepscope.importers import import_file
from stepscope.schema import Kind
from tests.builders import TraceBuilder


def work(name: str, shapes: list[Any], told: list[str] | None = None, type: str = "float") -> Work | None:
    args: dict[str, Any] = {"Input Dims": shapes, "Input type": [type] * len(shapes)}
    if told is not None:
        args["Concrete Inputs"] = told
    events = TraceBuilder().op(name, 0, 10, **args).window().events
    code, works = operator_work(events, np.flatnonzero(events.of_kind(Kind.OP)))
    return works[code[0]]


def test_products() -> None:
    assert work("aten::mm", [[16, 32], [32, 8]]) == Work(2 * 16 * 32 * 8, 4 * (512 + 256 + 128), "f32")
    assert work("aten::addmm", [[8], [16, 32], [32, 8], [], []], type="c10::Half") == Work(
        2 * 16 * 32 * 8, 2 * (512 + 256 + 128), "f16"
    )
    assert work("aten::bmm", [[3, 16, 32], [3, 32, 8]], type="c10::BFloat16") == Work(
        2 * 3 * 16 * 32 * 8, 2 * 3 * (512 + 256 + 128), "bf16"
    )
    assert work("aten::mv", [[16, 32], [32]]) == Work(2 * 16 * 32, 4 * (512 + 32 + 16), "f32")


def test_convolutions() -> None:
    """Of 2 images of 16 x 16 with 3 channels a kernel of 3 x 3 makes 8 channels of 8 x 8."""
    told = ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]
    forward = 2 * (2 * 8 * 8 * 8) * (3 * 3 * 3)
    data, kernel, out = 2 * 3 * 256, 8 * 27, 2 * 8 * 64
    found = work("aten::convolution", [[2, 3, 16, 16], [8, 3, 3, 3], [8]] + [[]] * 6, told)
    assert found == Work(forward, 4 * (data + kernel + out), "f32", tf32=True)
    told = ["", "", "", "[8]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", "[False, True, True]"]
    found = work("aten::convolution_backward", [[2, 8, 8, 8], [2, 3, 16, 16], [8, 3, 3, 3]] + [[]] * 8, told)
    assert found == Work(forward, 4 * (data + kernel + out + kernel), "f32", tf32=True)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("aten::linear", [[16, 32], [8, 32], [8]]),  # aten::addmm inside it has the work
        ("aten::mm", []),
        ("aten::mm", [[16, 32], [31, 8]]),
        ("aten::convolution", [[2, 3, 16, 16], [8, 3, 3, 3], [8]]),  # without stride and padding
        ("aten::_scaled_dot_product_flash_attention", [[1, 2, 3, 4]] * 3),
    ],
)
def test_what_is_not_counted(name: str, shapes: list[Any]) -> None:
    assert work(name, shapes) is None


def test_arguments_that_no_version_writes() -> None:
    image, kernel = [2, 3, 16, 16], [8, 3, 3, 3]
    rest = ["[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]
    assert work("aten::convolution", [image, kernel], ["", "", "", "[0, 0]", *rest]) is None
    assert work("aten::convolution", [image, kernel], ["", "", "", 2, *rest]) is None
    assert work("aten::mm", [[2**40, 2**40], [2**40, 2**40]]) is None


def test_equal_to_pytorchs_counter(tmp_path) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    model = torch.nn.Sequential(
        torch.nn.Conv2d(4, 8, 3, stride=2, padding=1),
        torch.nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, output_padding=1),
        torch.nn.Flatten(),
        torch.nn.Linear(4 * 16 * 16, 10),
    )
    x = torch.randn(2, 4, 16, 16)

    def step() -> None:
        y = model(x)
        torch.bmm(y[None], y.T[None]).sum().backward()

    with FlopCounterMode(display=False) as counter:
        step()
    with torch.profiler.profile(record_shapes=True) as profiler:
        step()
    path = tmp_path / "t.pt.trace.json"
    profiler.export_chrome_trace(str(path))
    events = import_file(path).events
    code, works = operator_work(events, np.flatnonzero(events.of_kind(Kind.OP)))
    assert sum(found.flops for i in code.tolist() if (found := works[i])) == counter.get_total_flops()
