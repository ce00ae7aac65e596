"""FLOPs and bytes of HLO instructions by arithmetic, and equal to XLA's own counts of programs that it compiled."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import pytest

from stepscope.hlo import Module, read_module
from stepscope.hlo.attributes import library_dot
from stepscope.hlo.category import category
from stepscope.hlo.cost import NOT_READ, NOT_TOLD, PARTS_APART, Costs
from tests.hlo.programs import (
    computation,
    dense_layer,
    dot,
    fusion,
    instruction,
    member,
    message,
    packed,
    parameter,
    program,
)


def cost(module: Module, name: str):
    return Costs(module).of(*module.by_name[name])


def sort(module: Module, name: str) -> str:
    return category(module, module.by_name[name][1])


def of_one(*instructions: bytes, others: tuple[bytes, ...] = ()) -> Module:
    return read_module(program("m", *others, computation(9, "main", *instructions, root=1), entry=9))


def test_a_dense_layer() -> None:
    module = read_module(dense_layer())
    product, rest = cost(module, "dot.1"), cost(module, "add_maximum_fusion")
    assert product.flops == 2 * 64 * 256 * 128
    assert product.bytes == 4 * (64 * 128 + 128 * 256 + 64 * 256)
    assert rest.flops == 2 * 64 * 256, "an addition and a maximum of each element"
    assert rest.bytes == 4 * (64 * 256 + 256 + 64 * 256), "what passes inside the fusion touches no memory"
    assert (product.transcendentals, rest.transcendentals) == (0, 0)
    assert [sort(module, name) for name in ("dot.1", "add_maximum_fusion", "x")] == [
        "matrix product",
        "loop fusion",
        "parameter",
    ]


def test_a_convolution_does_not_count_its_padding() -> None:
    """3 x 3 over 4 x 4 with a border of 1: of 3 * 4 places a dimension, the first and the last lie outside."""
    window = b"".join(
        message(1, member(1, 3) + member(2, 1) + member(3, 1) + member(4, 1) + member(5, 1) + member(6, 1))
        for _ in "yx"
    )
    numbers = member(8, 3) + packed(11, [1, 2]) + member(3, 2) + member(4, 3) + packed(6, [0, 1])
    numbers += member(10, 3) + packed(12, [1, 2])
    module = of_one(
        parameter(2, "x", "f32[5,4,4,2]", 0),
        parameter(3, "k", "f32[3,3,2,7]", 1),
        instruction(1, "conv", "convolution", "f32[5,4,4,7]", [2, 3], extra=message(15, window) + message(16, numbers)),
    )
    assert cost(module, "conv").flops == 2 * 5 * 2 * 7 * (3 * 4 - 2) ** 2
    assert sort(module, "conv") == "convolution"


def test_a_reduction_applies_its_function_once_for_each_element_that_goes() -> None:
    add = computation(
        1,
        "add",
        parameter(5, "a", "f32[]", 0),
        parameter(6, "b", "f32[]", 1),
        instruction(7, "s", "add", "f32[]", [5, 6]),
        root=7,
    )
    module = of_one(
        parameter(2, "x", "f32[8,10]", 0),
        instruction(3, "zero", "constant", "f32[]"),
        instruction(1, "sum", "reduce", "f32[8]", [2, 3], [1]),
        others=(add,),
    )
    assert cost(module, "sum").flops == 80 - 8


def test_what_a_slice_does_not_take_is_not_read() -> None:
    """A fusion that updates 4 rows of 1000 in place: it reads and writes these."""
    fused = computation(
        1,
        "fused",
        parameter(11, "p0", "f32[1000,8]", 0),
        parameter(12, "p1", "f32[4,8]", 1),
        parameter(13, "p2", "s32[]", 2),
        instruction(14, "update", "dynamic-update-slice", "f32[1000,8]", [11, 12, 13, 13]),
        root=14,
        is_fusion=True,
    )
    module = of_one(
        parameter(2, "x", "f32[1000,8]", 0),
        parameter(3, "y", "f32[4,8]", 1),
        parameter(4, "i", "s32[]", 2),
        fusion(1, "update_fusion", "f32[1000,8]", [2, 3, 4], 1),
        others=(fused,),
    )
    assert cost(module, "update_fusion").bytes == 2 * 4 * 8 * 4 + 4
    assert cost(module, "update_fusion").flops == 0


def test_calls_into_libraries() -> None:
    config = '{"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"]}}}'
    call = member(28, "__cublas$lt$matmul") + member(43, config)
    module = of_one(
        parameter(2, "x", "bf16[16,32]", 0),
        parameter(3, "w", "bf16[32,8]", 1),
        instruction(1, "gemm", "custom-call", "(bf16[16,8], s32[100])", [2, 3], extra=call),
        instruction(4, "topk", "custom-call", "f32[4]", [2], extra=member(28, "TopK")),
    )
    gemm, unknown = cost(module, "gemm"), cost(module, "topk")
    assert gemm.flops == 2 * 16 * 8 * 32
    assert gemm.bytes == 2 * (16 * 32 + 32 * 8 + 16 * 8), "scratch memory is no result"
    assert sort(module, "gemm") == "matrix product"
    assert (unknown.flops, unknown.why) == (None, NOT_TOLD)
    assert unknown.bytes == 2 * 16 * 32 + 4 * 4
    assert sort(module, "topk") == "custom call"


def test_a_loop_leaves_its_work_to_its_parts_and_a_circle_ends() -> None:
    body = computation(1, "body", fusion(11, "round", "f32[4]", [], 1), root=11)
    module = of_one(parameter(2, "x", "f32[4]", 0), instruction(1, "loop", "while", "f32[4]", [2], [1]), others=(body,))
    assert cost(module, "loop").why == PARTS_APART
    assert cost(module, "round").flops is None
    assert sort(module, "loop") == "control flow"


#: In a process of its own: JAX starts threads, beside which no other test may fork.
_COMPILED_BY_XLA = """
import json, sys
import jax, jax.numpy as jnp

def step(x, w, image, kernel):
    y = jax.nn.softmax(jax.nn.gelu(x @ w))
    z = jax.lax.conv_general_dilated(image, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return (y * y).sum(0), jnp.sort(z.reshape(-1)), y[:4]

arguments = jnp.ones((64, 128)), jnp.ones((128, 32)), jnp.ones((4, 16, 16, 3)), jnp.ones((3, 3, 3, 8))
compiled = jax.jit(step).lower(*arguments).compile()
proto = compiled.runtime_executable().hlo_modules()[0].as_serialized_hlo_module_proto()
told = {name: compiled.cost_analysis()[name] for name in ("flops", "transcendentals")}
print(json.dumps({"proto": proto.hex(), **told}))
"""


def test_equal_to_what_xla_counts() -> None:
    if importlib.util.find_spec("jax") is None:
        pytest.skip("JAX is not installed")
    done = subprocess.run([sys.executable, "-c", _COMPILED_BY_XLA], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout.splitlines()[-1])
    module = read_module(message(1, bytes.fromhex(told["proto"])))
    costs = Costs(module)
    assert module.entry is not None
    flops = transcendentals = 0
    todo = [module.entry]
    while todo:
        computation_ = todo.pop()
        for each in computation_.instructions:
            if each.opcode == "call":
                todo += module.called(each)
                continue
            found = costs.of(computation_, each)
            assert found.flops is not None, (each.name, found.why)
            flops += found.flops
            transcendentals += found.transcendentals or 0
    assert (flops, transcendentals) == (told["flops"], told["transcendentals"])


def test_a_product_in_a_fusion_is_a_matrix_product() -> None:
    fused = computation(
        1,
        "f",
        parameter(11, "p0", "f16[4,8]", 0),
        parameter(12, "p1", "f16[8,2]", 1),
        dot(13, "d", "f16[4,2]", 11, 12),
        root=13,
    )
    module = of_one(
        parameter(2, "x", "f16[4,8]", 0),
        parameter(3, "w", "f16[8,2]", 1),
        fusion(1, "gemm_fusion", "f16[4,2]", [2, 3], 1, kind="kCustom"),
        others=(fused,),
    )
    assert sort(module, "gemm_fusion") == "matrix product fusion"
    assert cost(module, "gemm_fusion").flops == 2 * 4 * 2 * 8


def test_fusions_that_share_their_insides_are_read_once() -> None:
    levels = 40  # 2^39 ways lead from the first to the last
    inner = []
    for i in range(1, levels):
        first = parameter(10 * i, f"p{i}", "f32[4]", 0)
        calls = [fusion(10 * i + n, f"f{i}.{n}", "f32[4]", [10 * i], i + 1) for n in (1, 2)]
        inner.append(computation(i, f"c{i}", first, *calls, root=10 * i + 1))
    last = [parameter(10 * levels, "p", "f32[4]", 0), instruction(10 * levels + 1, "a", "add", "f32[4]", [400, 400])]
    inner.append(computation(levels, "last", *last, root=10 * levels + 1))
    main = computation(99, "main", parameter(1, "x", "f32[4]", 0), fusion(2, "f", "f32[4]", [1], 1), root=2)
    module = read_module(program("m", *inner, main, entry=99))
    cost = Costs(module).of(*module.by_name["f"])
    assert cost.flops == 4 * 2 ** (levels - 1)


def test_configurations_of_libraries_that_are_none() -> None:
    infinite = '{"dot_dimension_numbers":{"lhs_contracting_dimensions":[1e999]}}'
    for config in ("[" * 100_000, infinite, "null", '{"gemm_backend_config":null}'):
        assert library_dot(config) is None


def test_work_that_no_device_does_is_not_known() -> None:
    x = f"f32[{2**61}]"
    entry = computation(1, "main", parameter(1, "x", x, 0), dot(2, "d", x, 1, 1, 0), root=2)
    module = read_module(program("m", entry, entry=1))
    assert Costs(module).of(*module.by_name["d"]).why == NOT_READ
