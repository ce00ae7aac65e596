"""The place of a process among the ranks, from what launchers set."""

import pytest
import torch

from stepscope_torch.environment import Place, accelerators, devices, place, versions


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, Place(0, 1, None)),
        ({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}, Place(3, 8, 1)),
        ({"SLURM_PROCID": "5", "SLURM_NTASKS": "16", "SLURM_LOCALID": "5"}, Place(5, 16, 5)),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}, Place(1, 2, 1)),
        ({"RANK": "2", "WORLD_SIZE": "4", "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, Place(2, 4, None)),
        ({"SLURM_PROCID": "0"}, Place(0, 1, None)),
        ({"RANK": "x", "WORLD_SIZE": "4"}, Place(0, 1, None)),
    ],
)
def test_place_of_the_launcher(variables, expected):
    assert place(variables) == expected


def test_an_initialised_process_group_knows_best(tmp_path):
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        assert place({"RANK": "7", "WORLD_SIZE": "9", "LOCAL_RANK": "3"}) == Place(0, 1, 3)
    finally:
        torch.distributed.destroy_process_group()


def test_versions_and_devices_are_plain_data():
    assert versions()["torch"] == torch.__version__
    assert devices() == [] or torch.cuda.is_initialized()
    assert isinstance(accelerators(), frozenset)
