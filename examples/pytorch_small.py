"""Train a small convolutional network with PyTorch and record it: python examples/pytorch_small.py [RUN]"""

from __future__ import annotations

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import stepscope
from shapes import CLASSES, draw
from stepscope_torch import Profiler

BATCH = 64
STEPS_PER_EPOCH = 100
EPOCHS = 3


class Shapes(Dataset):
    """Pictures ``first`` to ``first + count - 1``, drawn when asked for."""

    def __init__(self, first: int, count: int) -> None:
        self.first, self.count = first, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        if index >= self.count:
            raise IndexError(index)
        picture, label = draw(self.first + index)
        with stepscope.annotate("augment"):
            picture = torch.from_numpy(picture).unsqueeze(0)
            if torch.rand(()) < 0.5:
                picture = picture.flip(-1)
        return picture, label


def convolution(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(8, outputs), nn.ReLU(), nn.MaxPool2d(2))


def make_model() -> nn.Module:
    return nn.Sequential(
        convolution(1, 16),
        convolution(16, 32),
        convolution(32, 64),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, len(CLASSES)),
    )


def accuracy(model: nn.Module, loader: DataLoader, device: torch.device) -> float:
    model.eval()
    right = 0
    with torch.no_grad():
        for pictures, labels in loader:
            right += int((model(pictures.to(device)).argmax(1) == labels.to(device)).sum())
    model.train()
    return right / len(loader.dataset)


def main(run: str) -> None:
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = make_model().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    loss_of = nn.CrossEntropyLoss()
    training = DataLoader(Shapes(0, BATCH * STEPS_PER_EPOCH), batch_size=BATCH, shuffle=True)
    validation = DataLoader(Shapes(10_000_000, BATCH * 8), batch_size=BATCH)

    with Profiler(run, model):
        for epoch in range(EPOCHS):
            losses = []
            for pictures, labels in training:
                pictures, labels = pictures.to(device), labels.to(device)
                loss = loss_of(model(pictures), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            print(
                f"epoch {epoch + 1}/{EPOCHS}: loss {sum(losses) / len(losses):.3f}, "
                f"validation accuracy {accuracy(model, validation, device):.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "runs/pytorch-small")
