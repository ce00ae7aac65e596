"""What devices can do at most, by the figures that their makers publish: the roof of a roofline.

Dense rates without sparsity, at boost clocks. A device of another model has no ceilings here, rather than wrong ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from stepscope.schema import Device

_TERA, _GIGA = 10**12, 10**9


@dataclass(frozen=True, eq=False)
class Ceilings:
    """Bytes a second of the memory, and FLOP a second by precision: ``f64``, ``f32`` (of vector units), ``tf32``,
    ``f16`` (and bf16) and ``f8`` of matrix units. ``source`` is the publication.
    """

    model: str
    bytes_per_s: int
    flop_per_s: dict[str, int]
    source: str

    def precision(self, type: str, matrix: bool, tf32: bool = True) -> str:
        """Which of the rates stands for work on elements of an XLA type.

        Products and convolutions run on matrix units, those of f32 as TF32 where the device has it and ``tf32`` is
        allowed; all else runs in f32 on vector units, f64 apart.
        """
        if type in ("f64", "c128", "s64", "u64"):
            return "f64" if "f64" in self.flop_per_s else "f32"
        names: tuple[str, ...] = ()
        if matrix and type in ("f16", "bf16"):
            names = ("f16",)
        elif matrix and type.startswith("f8"):
            names = ("f8", "f16")
        elif matrix and tf32:
            names = ("tf32",)
        return next((name for name in names if name in self.flop_per_s), "f32")


def _of(model: str, gbyte: float, source: str, **tera: float) -> Ceilings:
    rates = {name: round(rate * _TERA) for name, rate in tera.items()}
    return Ceilings(model, round(gbyte * _GIGA), rates, source)


_NV = "NVIDIA data sheet"
_H100 = {"f64": 67, "f32": 67, "tf32": 494.7, "f16": 989.4, "f8": 1978.9}
_A100 = {"f64": 19.5, "f32": 19.5, "tf32": 156, "f16": 312}
_CDNA3 = {"f64": 163.4, "f32": 163.4, "tf32": 653.7, "f16": 1307.4, "f8": 2614.9}
#: What a name tells; the first that matches. Rates of matrix units are those with 32-bit accumulation.
_MODELS: tuple[tuple[str, Ceilings], ...] = (
    (r"V100.*PCIE", _of("V100 PCIe", 900, f"{_NV}, V100", f64=7, f32=14, f16=112)),
    (r"V100", _of("V100 SXM2", 900, f"{_NV}, V100", f64=7.8, f32=15.7, f16=125)),
    (r"\bT4\b", _of("T4", 320, f"{_NV}, T4", f32=8.1, f16=65)),
    (r"A100.*80GB.*PCIe|A100.*PCIe.*80GB", _of("A100 80 GB PCIe", 1935, f"{_NV}, A100", **_A100)),
    (r"A100.*80GB", _of("A100 80 GB SXM", 2039, f"{_NV}, A100", **_A100)),
    (r"A100", _of("A100 40 GB", 1555, f"{_NV}, A100", **_A100)),
    (r"\bA30\b", _of("A30", 933, f"{_NV}, A30", f64=10.3, f32=10.3, tf32=82, f16=165)),
    (r"\bA10\b", _of("A10", 600, f"{_NV}, A10", f32=31.2, tf32=62.5, f16=125)),
    (r"\bL40S\b", _of("L40S", 864, f"{_NV}, L40S", f32=91.6, tf32=183, f16=362, f8=733)),
    (r"\bL4\b", _of("L4", 300, f"{_NV}, L4", f32=30.3, tf32=60, f16=121, f8=242)),
    (r"H200", _of("H200 SXM", 4800, f"{_NV}, H200", **_H100)),
    (r"H100.*PCIe", _of("H100 PCIe", 2000, f"{_NV}, H100", f64=51, f32=51, tf32=378, f16=756, f8=1513)),
    (r"H100", _of("H100 SXM", 3350, f"{_NV}, H100", **_H100)),
    (r"B200", _of("B200", 8000, f"{_NV}, DGX B200", f64=37, f32=75, tf32=1125, f16=2250, f8=4500)),
    (r"MI325X", _of("MI325X", 6000, "AMD data sheet, MI325X", **_CDNA3)),
    (r"MI300X", _of("MI300X", 5300, "AMD data sheet, MI300X", **_CDNA3)),
    (r"MI250X", _of("MI250X, one of two dies", 1638, "AMD data sheet, MI250X", f64=47.9, f32=47.9, f16=191.5)),
    (r"MI250", _of("MI250, one of two dies", 1638, "AMD data sheet, MI250", f64=45.3, f32=45.3, f16=181)),
    (r"MI210", _of("MI210", 1638, "AMD data sheet, MI210", f64=45.3, f32=45.3, f16=181)),
)  # fmt: skip
#: XPlane files name no model, but these: vendor, compute capability, multiprocessors -> the name above.
_BY_PROPERTIES: dict[tuple[str, int, int, int], str] = {
    ("nvidia", 7, 0, 80): "V100", ("nvidia", 7, 5, 40): "T4", ("nvidia", 8, 0, 108): "A100",
    ("nvidia", 8, 0, 56): "A30", ("nvidia", 8, 6, 72): "A10", ("nvidia", 8, 9, 142): "L40S",
    ("nvidia", 8, 9, 58): "L4", ("nvidia", 9, 0, 132): "H100", ("nvidia", 9, 0, 114): "H100 PCIe",
    ("nvidia", 10, 0, 148): "B200", ("amd", 9, 4, 304): "MI300X",
}  # fmt: skip
#: Memory from which on a model is its larger sister.
_LARGER = {"A100": (60 * 10**9, "A100 80GB"), "H100": (120 * 10**9, "H200"), "MI300X": (230 * 10**9, "MI325X")}


def ceilings_of(device: Device) -> Ceilings | None:
    """Those of a device, None where its model is not told or not listed."""
    name = device.name or ""
    found = next((ceilings for pattern, ceilings in _MODELS if re.search(pattern, name, re.IGNORECASE)), None)
    if found is None and (model := _model(device)):
        found = next(ceilings for pattern, ceilings in _MODELS if re.search(pattern, model, re.IGNORECASE))
    return found


def _model(device: Device) -> str | None:
    told = device.properties
    vendor = f"{told.get('device_vendor') or ''} {device.name or ''}".lower()
    maker = next((each for each in ("nvidia", "amd") if each in vendor), "")
    key = (maker, told.get("compute_cap_major"), told.get("compute_cap_minor"), device.sm_count)
    model = _BY_PROPERTIES.get(key)  # type: ignore[arg-type]
    if model in _LARGER and (device.memory_bytes or 0) > _LARGER[model][0]:
        return _LARGER[model][1]
    return model
