"""Small trainings, and what a recording of them holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from stepscope.runs import open_run
from stepscope.schema import Events, Kind, Note
from stepscope.workers import Worker
from stepscope_torch import Profiler

SIZE = 8
BATCH = 4


class Net(nn.Sequential):
    """With a forward outside of torch, which compiles no frame of its own modules."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x)


def make_model() -> nn.Module:
    """With dropout, so that its losses depend on every random number drawn."""
    torch.manual_seed(1)
    return Net(nn.Linear(SIZE, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 1))


def make_optimizer(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.1)


def make_loader(batches: int, **options) -> DataLoader:
    x = torch.arange(batches * BATCH * SIZE, dtype=torch.float32).reshape(-1, SIZE) / 100
    return DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=BATCH, **options)


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor) -> float:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def train(model: nn.Module, batches: int = 5, optimizer: torch.optim.Optimizer | None = None, **options) -> list[float]:
    """The losses of one epoch, which begins with the same random numbers each time."""
    torch.manual_seed(2)
    model.train()
    optimizer = optimizer or make_optimizer(model)
    return [train_step(model, optimizer, x, y) for x, y in make_loader(batches, **options)]


def validate(model: nn.Module, batches: int = 2) -> None:
    model.eval()
    with torch.no_grad():
        for x, _ in make_loader(batches):
            model(x)
    model.train()


def profiler(run: Path, model: nn.Module | None = None, **options) -> Profiler:
    """Without a deep window and a monitor unless asked for: most tests need neither. And without a budget and windows
    after slow steps: on a busy machine any test may take the 10 and 30 s after which a step is judged by them."""
    usual = {"schedule": False, "monitor_interval_ms": None, "overhead_budget": None, "flight_recorder": False}
    return Profiler(run, model, **{**usual, **options})


@dataclass
class Recording:
    """The only worker of a run, with what tests ask of it."""

    worker: Worker
    events: Events

    @property
    def meta(self) -> dict:
        return self.worker.meta

    @property
    def notes(self) -> list[Note]:
        return self.worker.notes

    def codes(self) -> list[str]:
        return [note.code for note in self.notes]

    def rows(self, kind: Kind, name: str | None = None) -> list[tuple[str, int, int, int]]:
        """(name, start, end, step), in order of time."""
        found = []
        for i in self.events.of_kind(kind).nonzero()[0].tolist():
            text, start = self.events.text(i), int(self.events.ts_ns[i])
            if name in (None, text):
                found.append((text, start, start + int(self.events.dur_ns[i]), int(self.events.step[i])))
        return sorted(found, key=lambda row: (row[1], -row[2]))

    def steps(self) -> list[int]:
        return [row[3] for row in self.rows(Kind.STEP)]

    def complete_steps(self) -> list[int]:
        mask = self.events.of_kind(Kind.STEP)
        return sorted(
            int(self.events.step[i]) for i in mask.nonzero()[0].tolist() if self.events.args_of(i).get("complete", True)
        )

    def phases(self) -> Counter[str]:
        return Counter(row[0] for row in self.rows(Kind.PHASE))

    def phases_of(self, step: int) -> list[str]:
        return [row[0] for row in self.rows(Kind.PHASE) if row[3] == step]


def read(run: Path) -> Recording:
    (worker,) = open_run(run).workers
    return Recording(worker, worker.live())


TRAINING_PHASES = ["input_wait", "forward", "backward", "optimizer"]
