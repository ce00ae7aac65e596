"""Where this process runs: its place among the ranks, its accelerators, the versions of what it uses."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch

from stepscope.schema import Device

# One launcher a line, the first with a rank wins: (rank, world size, local rank).
_LAUNCHERS = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),  # torchrun and what imitates it
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
)


@dataclass(frozen=True)
class Place:
    """``local_rank`` is None where the launcher does not say."""

    rank: int
    world_size: int
    local_rank: int | None


def place(environ: Mapping[str, str] = os.environ) -> Place:
    """Rank and world size: of torch.distributed if it is initialised, else of the launcher's variables.

    Where nothing says otherwise this is a single process: rank 0 of 1.
    """
    found = _of_launcher(environ)
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        local = None if found is None else found.local_rank
        return Place(torch.distributed.get_rank(), torch.distributed.get_world_size(), local)
    return found or Place(0, 1, None)


def _of_launcher(environ: Mapping[str, str]) -> Place | None:
    for rank_name, size_name, local_name in _LAUNCHERS:
        rank, size = _number(environ, rank_name), _number(environ, size_name)
        # An interactive Slurm shell sets SLURM_PROCID=0 without a job step's size: still rank 0 of 1.
        if rank is not None and rank < (size or 1):
            return Place(rank, size or 1, _number(environ, local_name))
    return None


def _number(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name, "").strip()
    return int(text) if text.isdecimal() else None


def accelerators() -> frozenset[str]:
    """Device types that a copy from the host can go to. Does not initialise any of them."""
    backends = {"cuda": torch.cuda, "xpu": getattr(torch, "xpu", None), "mps": torch.backends.mps}
    types = {name for name, backend in backends.items() if backend is not None and backend.is_available()}
    if hasattr(torch, "accelerator") and torch.accelerator.is_available():
        current = torch.accelerator.current_accelerator()
        if current is not None:
            types.add(current.type)
    return frozenset(types)


def devices() -> list[dict[str, Any]]:
    """The CUDA devices that this process uses, as ``schema.Device`` fields.

    Empty until the training itself has initialised CUDA: asking earlier would initialise it here, and
    a process that forks after that cannot use CUDA in its children.
    """
    if not (torch.cuda.is_available() and torch.cuda.is_initialized()):
        return []
    current = torch.cuda.current_device()
    return [
        asdict(_cuda_device(i))
        for i in range(torch.cuda.device_count())
        if i == current or torch.cuda.memory_reserved(i) > 0
    ]


def _cuda_device(index: int) -> Device:
    properties = torch.cuda.get_device_properties(index)
    return Device(
        index,
        properties.name,
        properties.multi_processor_count,
        properties.total_memory,
        {"compute_capability": f"{properties.major}.{properties.minor}"},
    )


def versions() -> dict[str, str]:
    """torch and what it was built with; only what is there."""
    found = {
        "torch": torch.__version__,
        "cuda": getattr(torch.version, "cuda", None),
        "hip": getattr(torch.version, "hip", None),
    }
    return {name: str(version) for name, version in found.items() if version}
