"""Every Python block of the pages about integrations runs as it stands, one after the other."""

import logging
import re
from pathlib import Path

import pytest
import torch
from torch import nn

from stepscope.runs import find_runs
from tests.torch.training import make_loader, make_model, make_optimizer

DOCS = Path(__file__).resolve().parents[2] / "docs"

pytestmark = pytest.mark.filterwarnings("ignore")


def run_blocks(page, **names):
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    for number, block in enumerate(blocks):
        exec(compile(block, f"{page}, block {number}", "exec"), names)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


def recorded_steps():
    """The number of steps of each worker below ./runs."""
    from stepscope.schema import Kind

    found = find_runs(Path("runs"))
    return sorted(int(w.live().of_kind(Kind.STEP).sum()) for run in found for w in run.workers)


def test_lightning():
    lightning = pytest.importorskip("lightning.pytorch", reason="lightning is not installed")
    from tests.integrations.test_lightning import Module

    run_blocks("lightning.md", Trainer=lightning.Trainer, module=Module(), loader=make_loader(4))
    assert recorded_steps() == [4, 4]


def test_huggingface():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    from tests.integrations.test_huggingface import Net, samples

    arguments = transformers.TrainingArguments(
        "out", use_cpu=True, num_train_epochs=1, report_to="none", save_strategy="no", disable_tqdm=True
    )
    run_blocks("huggingface.md", Trainer=transformers.Trainer, model=Net(), arguments=arguments, dataset=samples(24))
    assert recorded_steps() == [3]


def test_accelerate():
    accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")
    model = make_model()
    run_blocks(
        "accelerate.md",
        accelerator=accelerate.Accelerator(cpu=True),
        model=model,
        optimizer=make_optimizer(model),
        loader=make_loader(4),
        criterion=nn.functional.mse_loss,
    )
    assert recorded_steps() == [4]


def test_keras():
    tf = pytest.importorskip("tensorflow", reason="tensorflow is not installed")
    import keras

    from tests.tf.conftest import arrays
    from tests.tf.conftest import make_model as make_keras_model

    x, y = arrays(4)
    from stepscope_tf import session

    run_blocks(
        "keras.md",
        keras=keras,
        model=make_keras_model(),
        x=x,
        y=y,
        batches=[(x, y)] * 3,
        dataset=tf.data.Dataset.range(5),
        train=lambda batch: None,
    )
    if session.current is not None:
        session.current.close()
    assert recorded_steps() == [2, 3, 5]


def test_migration(monkeypatch):
    import sys

    from stepscope import smprof

    monkeypatch.setitem(sys.modules, "smprof", None)
    monkeypatch.setitem(sys.modules, "smppy", None)
    monkeypatch.setattr(smprof.SMProfiler, "_instance", None)
    model = make_model()
    run_blocks(
        "migrate_from_sagemaker.md",
        model=model,
        optimizer=make_optimizer(model),
        loader=make_loader(4),
        criterion=nn.functional.mse_loss,
        torch=torch,
    )
    assert recorded_steps() == [4]
