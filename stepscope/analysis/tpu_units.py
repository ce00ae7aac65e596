"""Use of the units of a TPU from its hardware counters, as xprof's utilization viewer derives it.

Numbers of counters and formulas: openxla/xprof, xprof/utils/tpu_counter_ids_v6e.h and _v7x.h,
xprof/convert/tpu_generic_utilization_utils.cc and xplane_to_utilization_viewer.cc. Counters are registers, and their
numbers addresses: a block for each core, tile or memory channel, all of one kind alike. Of TPU v7x these sources, as
they were read, give no numbers for the links between chips and for the parts of the vector unit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

_GIB = 1 << 30
#: Matrix units, and vector ALUs, of a tensor core; tiles of a sparse core.
_MXUS, _ALUS, _TILES = 2, 4, 16
#: Bytes that one transfer moves.
_HBM_BEAT, _ICI_FLIT = 32, 128
#: Bytes a second that the links between chips carry in one direction, at 10^9 cycles a second: xprof's figure.
_ICI_BYTES_PER_S = 294_947_368_421.0526
#: Cycles of a matrix product by the form of its operands; 4-bit and 8-bit integers from the matrix unit's own
#: registers (LMR) take half of what bfloat16 does.
_LMR, _LMR_INTEGER, _VREG, _VREG_F32 = 4.0, 2.0, 8.0, 4.0


@dataclass(frozen=True)
class _Model:
    """Where the registers of one model lie. Offsets of a tensor core are from ``core``, its counter of cycles."""

    cores: tuple[int, ...]
    clocks: tuple[int, ...]  # the cycles that uses are shares of, by core
    hertz: float
    xlu_cycles: int
    lmr: dict[str, int]
    after_products: int  # where the counters behind the products begin: busy matrix units
    vpu: int | None
    throttle: dict[str, int]
    hbm: tuple[int, ...]  # the first channel of each core
    channel: int
    channels: int
    hbm_reads: tuple[int, ...]
    hbm_writes: tuple[int, ...]
    hbm_bytes_per_s: float
    ici_reads: tuple[int, ...]
    ici_writes: tuple[int, ...]
    scalar_tiles: tuple[int, ...]  # of each sparse core the first tile's cycles, scalar side
    scalar_tile: int
    scalar_issue: int  # from its cycles to the issued instructions
    vector_tiles: tuple[int, ...]
    vector_tile: int
    sequencers: tuple[int, ...]


_SC_V6E, _SC_V7X, _DIE = 44_040_192, 27_262_976, 1 << 29
_V6E = _Model(
    cores=(3_257_466_888,),
    clocks=(3_257_466_888,),
    hertz=1.75e9,
    xlu_cycles=4,
    lmr={"bf16": 464, "i8": 480, "i4": 496},
    after_products=512,
    vpu=1688,
    throttle={},
    hbm=(3_019_980_808,),
    channel=1 << 21,
    channels=32,
    hbm_reads=(48, 56),
    hbm_writes=(16, 24, 32, 40),
    hbm_bytes_per_s=1525.5 * _GIB,
    ici_reads=(2_953_257_136, 2_953_257_192),
    ici_writes=(2_953_257_248, 2_953_257_304),
    scalar_tiles=(3_490_185_224, 3_490_185_224 + _SC_V6E),
    scalar_tile=1 << 21,
    scalar_issue=480,
    vector_tiles=(3_490_186_176, 3_490_186_176 + _SC_V6E),
    vector_tile=1 << 21,
    sequencers=(3_532_193_800, 3_532_193_800 + _SC_V6E),
)
_SPARSE_V7X = tuple(die + core for die in (0, _DIE) for core in (0, _SC_V7X))
_V7X = _Model(
    cores=(2_791_874_568, 2_791_874_568 + _DIE),
    clocks=(2_847_490_056, 2_847_490_056 + _DIE),
    hertz=1.9e9,
    xlu_cycles=1,
    lmr={"bf16": 432},
    after_products=448,
    vpu=None,
    throttle={"Clocks skipped": 8, "Clocks skipped, external throttle": 32, "Clocks skipped, voltage droop": 56},
    hbm=(2_705_724_440, 2_705_724_440 + _DIE),
    channel=1 << 17,
    channels=64,
    hbm_reads=(32, 40),
    hbm_writes=(0, 8, 16, 24),
    hbm_bytes_per_s=3433.0 * _GIB,
    ici_reads=(),
    ici_writes=(),
    scalar_tiles=tuple(2_792_513_544 + place for place in _SPARSE_V7X),
    scalar_tile=1 << 20,
    scalar_issue=8,
    vector_tiles=tuple(2_809_282_576 + place for place in _SPARSE_V7X),
    vector_tile=1 << 19,
    sequencers=tuple(2_817_921_032 + place for place in _SPARSE_V7X),
)
#: By what the plane calls the device (``device_type_string``).
MODELS = {"TPU v6 Lite": _V6E, "TPU v7x": _V7X}


@dataclass(frozen=True)
class TpuUnit:
    """What one unit did, and the most that it could have done in the same cycles, in ``quantity``."""

    name: str
    achieved: float
    peak: float
    quantity: str


#: Makes a unit of what it is, its counters with their weights, the most and the quantity.
_Unit = Callable[[str, Iterable[tuple[float, int]], float, str], Iterator[TpuUnit]]


def tpu_units(model: str | None, values: Mapping[int, float]) -> list[TpuUnit]:
    """The units that the counters tell of; none of a model whose registers are not known.

    Args:
        model: what the file calls the device.
        values: of each counter, by its number, the sum over the samples.
    """
    if model not in MODELS:
        return []
    layout = MODELS[model]
    found: list[TpuUnit] = []
    for core in range(len(layout.cores)):
        found += _tensor_core(layout, core, values)
        found += _memory(layout, core, values)
    found += _links(layout, values)
    for core in range(len(layout.sequencers)):
        found += _sparse_core(layout, core, values)
    return [unit for unit in found if unit.peak > 0]


def _tensor_core(layout: _Model, core: int, values: Mapping[int, float]) -> Iterator[TpuUnit]:
    base, name = layout.cores[core], f"Tensor core {core}: "
    cycles = values.get(layout.clocks[core], 0.0)

    def unit(what: str, parts: Iterable[tuple[float, int]], most: float, quantity: str) -> Iterator[TpuUnit]:
        told = [(weight, values[base + at]) for weight, at in parts if base + at in values]
        if told:
            yield TpuUnit(name + what, sum(weight * value for weight, value in told), most, quantity)

    for what, at in layout.throttle.items():
        if (number := layout.clocks[core] + at) in values:
            yield TpuUnit(name + what, values[number], cycles, "cycles")
    yield from unit("scalar unit", _each(80, 2), cycles * 2, "instructions")
    yield from unit("vector ALUs", _each(248, _ALUS), cycles * _ALUS, "instructions")
    if layout.vpu is not None:
        yield from unit("vector unit, operations", _each(layout.vpu, 5 * _ALUS), cycles * _ALUS, "instructions")
    yield from unit("stores to vector memory", _each(280, 1), cycles, "instructions")
    yield from unit("loads from vector memory", _each(296, 2), cycles * 2, "instructions")
    busy = layout.after_products
    yield from _busy(unit, "matrix units", busy, cycles)
    products = [_products(layout, mxu) for mxu in range(_MXUS)]
    for mxu, by_type in enumerate(products):
        yield from unit(f"matrix unit {mxu}", [p for parts in by_type.values() for p in parts], cycles, "cycles")
    for kind in products[0]:
        both = [p for by_type in products for p in by_type[kind]]
        yield from unit(f"matrix units, {kind}", both, cycles * _MXUS, "cycles")
    yield from unit("matrix units, loading weights", _each(busy + 40, 2), cycles * _MXUS, "cycles")
    yield from _busy(unit, "cross-lane units", busy + 136, cycles)
    for xlu in range(2):
        parts = [(1.0, busy + at + 8 * xlu) for at in (72, 88, 104, 120)]
        yield from unit(f"cross-lane unit {xlu}", parts, cycles // layout.xlu_cycles, "instructions")


def _each(first: int, count: int) -> list[tuple[float, int]]:
    return [(1.0, first + 8 * i) for i in range(count)]


def _busy(unit: _Unit, what: str, first: int, cycles: float) -> Iterator[TpuUnit]:
    """Counters of the cycles in which none, one and both of two units were busy."""
    yield from unit(f"{what}, one busy", [(1.0, first + 8)], cycles, "cycles")
    yield from unit(f"{what}, both busy", [(1.0, first + 16)], cycles, "cycles")
    yield from unit(f"{what}, mean", [(0.5, first + 8), (1.0, first + 16)], cycles, "cycles")


def _products(layout: _Model, mxu: int) -> dict[str, list[tuple[float, int]]]:
    """Counters of products of one matrix unit by type, each with the cycles that one product takes."""
    at = 8 * mxu
    bf16 = [(_VREG_F32, 384 + at), (_VREG, 400 + at), (_LMR, layout.lmr["bf16"] + at)]
    f8 = [(_VREG, 416 + at)]
    if "i8" not in layout.lmr:
        return {"bfloat16": bf16, "float8": f8}
    return {
        "bfloat16 and float8": bf16 + f8,
        "int8": [(_LMR_INTEGER, layout.lmr["i8"] + at), (_VREG, 432 + at)],
        "int4": [(_LMR_INTEGER, layout.lmr["i4"] + at), (_VREG, 448 + at)],
    }


def _memory(layout: _Model, core: int, values: Mapping[int, float]) -> Iterator[TpuUnit]:
    channels = [layout.hbm[core] + layout.channel * i for i in range(layout.channels)]
    reads = _sum(values, (c + at for c in channels for at in layout.hbm_reads))
    writes = _sum(values, (c + at for c in channels for at in layout.hbm_writes))
    if reads is None and writes is None:
        return
    seconds = values.get(layout.cores[core], 0.0) / layout.hertz
    moved = ((reads or 0.0) + (writes or 0.0)) * _HBM_BEAT
    yield TpuUnit(f"Memory of core {core}", moved, layout.hbm_bytes_per_s * seconds, "bytes")


def _links(layout: _Model, values: Mapping[int, float]) -> Iterator[TpuUnit]:
    peak = _ICI_BYTES_PER_S * values.get(layout.clocks[0], 0.0) / 1e9
    for what, numbers in (("reads", layout.ici_reads), ("writes", layout.ici_writes)):
        if (flits := _sum(values, numbers)) is not None:
            yield TpuUnit(f"Links between chips, {what}", flits * _ICI_FLIT, peak, "bytes")


def _sparse_core(layout: _Model, core: int, values: Mapping[int, float]) -> Iterator[TpuUnit]:
    name, cycles = f"Sparse core {core}: ", values.get(layout.scalar_tiles[core], 0.0)
    scalar = [layout.scalar_tiles[core] + layout.scalar_issue + layout.scalar_tile * i for i in range(_TILES)]
    vector = [layout.vector_tiles[core] + layout.vector_tile * i for i in range(_TILES)]
    slots = ("", ", slot 0", ", slot 1", ", slot 2", ", loads", ", stores", ", results", ", exchange")
    sides = [
        ("scalar issue", scalar, dict(zip(("", slots[1], slots[2], ", miscellaneous"), (0, 16, 24, 32), strict=True)))
    ]
    sides.append(("vector issue", vector, {slot: 8 * i for i, slot in enumerate(slots)}))
    for what, tiles, places in sides:
        for slot, at in places.items():
            if (issued := _sum(values, (tile + at for tile in tiles))) is not None:
                yield TpuUnit(name + what + slot, issued, cycles * _TILES, "instructions")
    first = layout.sequencers[core]
    for slot, at in (("", 8), (", slot 0", 24), (", slot 1", 32), (", miscellaneous", 40)):
        if (issued := _sum(values, (first + at,))) is not None:
            yield TpuUnit(f"{name}sequencer{slot}", issued, values.get(first, 0.0), "instructions")


def _sum(values: Mapping[int, float], numbers: Iterable[int]) -> float | None:
    """Of those that were counted; None where none was."""
    told = [values[number] for number in numbers if number in values]
    return sum(told) if told else None
