"""Trainings as real scripts write them, each once: run with a hook and without, they must do the same to the last bit.

A scenario is a function of a ``Hook`` that trains and returns what came of it: losses and modules. What the hook has
to see of it stands beside it.
"""

from __future__ import annotations

import copy
import io
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

from tests.torch.training import (
    SIZE,
    TRAINING_PHASES,
    Net,
    make_loader,
    make_model,
    make_optimizer,
    profiler,
    train,
    train_step,
)

STEPS = 24  # enough for steps that are told by comparison
WITHOUT_LOADER = TRAINING_PHASES[1:]


class Unhooked:
    """What a Profiler is to a script, without the recording."""

    def __init__(self, model: nn.Module | None = None) -> None:
        pass

    def __enter__(self) -> Unhooked:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def step(self) -> None:
        pass

    def wrap_loader(self, loader: Any) -> Any:
        return loader


Hook = Callable[[nn.Module | None], Any]
Outcome = tuple[list[float], list[nn.Module]]


@dataclass(frozen=True)
class Scenario:
    """``steps`` complete ones are seen; the last has ``phases``; ``notes`` are left with the run."""

    train: Callable[[Hook], Outcome]
    phases: list[str]
    steps: int
    notes: list[str] = field(default_factory=list)

    def outcome(self, hook: Hook) -> tuple[list[float], list[torch.Tensor]]:
        torch.manual_seed(0)
        losses, modules = self.train(hook)
        return losses, [tensor.clone() for module in modules for tensor in module.state_dict().values()]


SCENARIOS: dict[str, Scenario] = {}


def scenario(phases: Iterable[str] = TRAINING_PHASES, steps: int = STEPS, notes: Iterable[str] = ()) -> Any:
    def register(function: Callable[[Hook], Outcome]) -> Callable[[Hook], Outcome]:
        SCENARIOS[function.__name__] = Scenario(function, list(phases), steps, list(notes))
        return function

    return register


def pairs(count: int = STEPS) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    return iter([tuple(batch) for batch in make_loader(count)])


class Checkpointed(nn.Module):
    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.inner = make_model()
        self.reentrant = reentrant

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.requires_grad_() if self.reentrant else x
        return torch.utils.checkpoint.checkpoint(self.inner, x, use_reentrant=self.reentrant)


# -- compiled code ---------------------------------------------------------------------------------------------


def compiled(make: Callable[[nn.Module], nn.Module]) -> Callable[[Hook], Outcome]:
    def run(hook: Hook) -> Outcome:
        torch._dynamo.reset()
        model = make_model()
        called = make(model)
        with hook(called):
            return train(called, STEPS), [model]

    return run


def in_place(model: nn.Module, **options: Any) -> nn.Module:
    model.compile(**options)
    return model


def regional(model: nn.Module) -> nn.Module:
    model.compile(backend="aot_eager", fullgraph=True)
    return Net(model, nn.Tanh())


SCENARIOS |= {
    "compile": Scenario(compiled(lambda m: torch.compile(m, backend="aot_eager")), TRAINING_PHASES, STEPS),
    "compile_fullgraph": Scenario(
        compiled(lambda m: torch.compile(m, backend="aot_eager", fullgraph=True)), TRAINING_PHASES, STEPS
    ),
    "compile_in_place": Scenario(
        compiled(lambda m: in_place(m, backend="aot_eager", fullgraph=True)), TRAINING_PHASES, STEPS
    ),
    "compile_region": Scenario(compiled(regional), TRAINING_PHASES, STEPS),
    "inductor": Scenario(compiled(lambda m: torch.compile(m)), TRAINING_PHASES, STEPS),
}


@scenario(["forward", "backward"])
def compiled_optimizer(hook: Hook) -> Outcome:
    """What runs in compiled code is not seen: neither this optimizer's phase nor the step that it ends."""
    torch._dynamo.reset()
    model = make_model()
    optimizer = make_optimizer(model)
    update = torch.compile(optimizer.step, backend="eager")
    losses = []
    with hook(model) as prof:
        for x, y in pairs():
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            update()
            losses.append(loss.item())
            prof.step()
    return losses, [model]


# -- ways to train ---------------------------------------------------------------------------------------------


@scenario()
def checkpoint(hook: Hook) -> Outcome:
    model = Checkpointed(reentrant=False)
    with hook(model):
        return train(model, STEPS), [model]


@scenario()
def checkpoint_reentrant(hook: Hook) -> Outcome:
    model = Checkpointed(reentrant=True)
    with hook(model):
        return train(model, STEPS), [model]


@scenario()
def amp_with_scaler(hook: Hook) -> Outcome:
    model = make_model()
    optimizer = make_optimizer(model)
    scaler = torch.amp.GradScaler("cpu")
    losses = []
    with hook(model):
        for i, (x, y) in enumerate(make_loader(STEPS)):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                loss = nn.functional.mse_loss(model(x), y) * (float("inf") if i == 5 else 1)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
    return losses, [model]


@scenario(["input_wait", "forward", "backward"] * 3 + ["optimizer"], STEPS // 3)
def gradient_accumulation(hook: Hook) -> Outcome:
    model = make_model()
    optimizer = make_optimizer(model)
    losses = []
    with hook(model):
        for i, (x, y) in enumerate(make_loader(STEPS)):
            loss = nn.functional.mse_loss(model(x), y)
            (loss / 3).backward()
            losses.append(loss.item())
            if i % 3 == 2:
                optimizer.step()
                optimizer.zero_grad()
    return losses, [model]


@scenario(["input_wait", *["forward", "backward", "optimizer"] * 2])
def two_optimizers(hook: Hook) -> Outcome:
    """A GAN's loop: one batch, two models, one step."""
    first, second = make_model(), make_model()
    optimizers = make_optimizer(first), make_optimizer(second)
    losses = []
    with hook(None):
        for x, y in make_loader(STEPS):
            for model, optimizer in zip((first, second), optimizers, strict=True):
                losses.append(train_step(model, optimizer, x, y))
    return losses, [first, second]


@scenario(["input_wait", "optimizer", "forward", "backward", "forward", "backward"])
def lbfgs_closure(hook: Hook) -> Outcome:
    model = make_model()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2, max_eval=2, tolerance_grad=0, tolerance_change=0)
    losses = []
    with hook(model):
        for x, y in make_loader(STEPS):

            def closure(x: torch.Tensor = x, y: torch.Tensor = y) -> torch.Tensor:
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(x), y)
                loss.backward()
                return loss

            losses.append(optimizer.step(closure).item())
    return losses, [model]


@scenario(["input_wait", "forward", "backward", "backward", "optimizer"])
def autograd_grad(hook: Hook) -> Outcome:
    """A gradient penalty: the gradient is part of the loss."""
    model = make_model()
    optimizer = make_optimizer(model)
    losses = []
    with hook(model):
        for x, y in make_loader(STEPS):
            x.requires_grad_()
            output = model(x)
            (gradient,) = torch.autograd.grad(output.sum(), x, create_graph=True)
            loss = nn.functional.mse_loss(output, y) + gradient.square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses, [model]


@scenario()
def moving_average(hook: Hook) -> Outcome:
    """The average is a deep copy of the hooked model, and computes with its own weights."""
    model = make_model()
    optimizer = make_optimizer(model)
    losses = []
    with hook(model):
        average = torch.optim.swa_utils.AveragedModel(model)
        twin = copy.deepcopy(model).eval()
        for x, y in make_loader(STEPS):
            losses.append(train_step(model, optimizer, x, y))
            average.update_parameters(model)
            losses.append(average.module.eval()(x).sum().item() + twin(x).sum().item())
    return losses, [model, average]


@scenario()
def save_and_load(hook: Hook) -> Outcome:
    model = make_model()
    with hook(model):
        losses = train(model, STEPS // 2)
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        loaded = torch.load(file, weights_only=False)
        losses += train(model, STEPS // 2)
        losses.append(loaded.eval()(torch.ones(1, SIZE)).item())
    return losses, [model, loaded]


@scenario()
def export(hook: Hook) -> Outcome:
    model = make_model()
    x = torch.ones(4, SIZE)
    with hook(model):
        losses = train(model, STEPS // 2)
        with torch.no_grad():
            for strict in (False, True):
                program = torch.export.export(model.eval(), (x,), strict=strict)
                losses.append(program.module()(x).sum().item())
        model.train()
        losses += train(model, STEPS // 2)
    return losses, [model]


# -- loaders ---------------------------------------------------------------------------------------------------


class Stream(IterableDataset):
    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        return pairs()


def train_on(hook: Hook, make: Callable[[Any], Iterable[Any]]) -> Outcome:
    model = make_model()
    optimizer = make_optimizer(model)
    with hook(model) as prof:
        return [train_step(model, optimizer, x, y) for x, y in make(prof)], [model]


@scenario()
def workers_and_pinned_memory(hook: Hook) -> Outcome:
    return train_on(hook, lambda _: make_loader(STEPS, num_workers=2, pin_memory=True))


@scenario()
def iterable_dataset(hook: Hook) -> Outcome:
    return train_on(hook, lambda _: DataLoader(Stream(), batch_size=None))


@scenario()
def wrapped_generator(hook: Hook) -> Outcome:
    return train_on(hook, lambda prof: prof.wrap_loader(pairs()))


@scenario()
def wrapped_torch_loader(hook: Hook) -> Outcome:
    """Wrapped for nothing: the wait is counted once."""
    return train_on(hook, lambda prof: prof.wrap_loader(make_loader(STEPS)))


@scenario(WITHOUT_LOADER)
def unknown_loader(hook: Hook) -> Outcome:
    return train_on(hook, lambda _: pairs())


# -- what goes another way -------------------------------------------------------------------------------------


@scenario(steps=STEPS - 1)
def exception_in_forward(hook: Hook) -> Outcome:
    class Fails(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = make_model()
            self.calls = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            if self.calls == 20:
                raise ValueError("a bad batch")
            return self.inner(x)

    model = Fails()
    optimizer = make_optimizer(model)
    losses = []
    with hook(model):
        for x, y in make_loader(STEPS):
            try:
                losses.append(train_step(model, optimizer, x, y))
            except ValueError:
                losses.append(-1.0)
    return losses, [model]


@scenario(steps=2 * (STEPS // 2))
def early_break(hook: Hook) -> Outcome:
    model = make_model()
    optimizer = make_optimizer(model)
    losses = []
    with hook(model):
        for _ in range(2):
            for i, (x, y) in enumerate(make_loader(STEPS)):
                losses.append(train_step(model, optimizer, x, y))
                if i == STEPS // 2 - 1:
                    break
    return losses, [model]


@scenario()
def worker_thread(hook: Hook) -> Outcome:
    """The profiler starts in the main thread, the training runs in another, as in an actor of Ray."""
    model = make_model()
    losses: list[float] = []
    with hook(model):
        thread = threading.Thread(target=lambda: losses.extend(train(model, STEPS)))
        thread.start()
        thread.join()
    return losses, [model]


@scenario()
def all_in_a_thread(hook: Hook) -> Outcome:
    model = make_model()
    losses: list[float] = []

    def work() -> None:
        with hook(model):
            losses.extend(train(model, STEPS))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return losses, [model]


# -- several processes -----------------------------------------------------------------------------------------


def data_parallel() -> nn.Module:
    return nn.parallel.DistributedDataParallel(make_model())


def sharded() -> nn.Module:
    from torch.distributed.fsdp import fully_shard

    model = make_model()
    mesh = torch.distributed.init_device_mesh("cpu", (torch.distributed.get_world_size(),))
    fully_shard(model[0], mesh=mesh)
    return fully_shard(model, mesh=mesh)


def train_rank(rank: int, world_size: int, folder: Path, schedule: Any) -> None:
    """What a spawned rank does: each kind of distributed model with the hook and without.

    Raises:
        AssertionError: they differ.
    """
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(world_size), "LOCAL_RANK": str(rank)}
    torch.set_num_threads(1)
    meeting = f"file://{folder / 'ranks'}"  # a port that is free now need not be when it is used
    torch.distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=world_size)
    for make in (data_parallel, sharded):
        outcomes = []
        for hook in (Unhooked, lambda model, name=make.__name__: profiler(folder / name, model, schedule=schedule)):
            model = make()
            with hook(model):
                losses = train(model, STEPS)
            outcomes.append((losses, [p.to_local() if hasattr(p, "to_local") else p for p in model.parameters()]))
        (expected, expected_parameters), (losses, parameters) = outcomes
        assert losses == expected
        assert all(map(torch.equal, parameters, expected_parameters))
    torch.distributed.destroy_process_group()
