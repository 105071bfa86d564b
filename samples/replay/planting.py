"""Train a tiny model with the recorder on, plant one fault, replay the step: what a user's folder then holds."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from analyzer.replay import record
from analyzer.replay.replayer import replay_capsule, write_trace

from .faults import (
    BAD_STEP,
    WIDTH,
    Attention,
    Gain,
    Large,
    Logarithm,
    Net,
    Root,
    Unit,
    log_loss,
    plain_loss,
    write_into_weight,
)  # fmt: skip

STEPS = BAD_STEP + 3
BATCH = 6
SEED = 7

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Planted:
    """One fault.

    Attributes:
        model: Makes the model.
        plant: Done to model and batch at the bad step.
        loss: Loss before the fault, and from the bad step on.
        dtype: Format in which the model computes.
        hand_over: Whether the script tells the recorder its loss.
    """

    model: Callable[[], Net]
    plant: Callable[[Net, torch.Tensor], None] = field(default=lambda _model, _x: None)
    loss: tuple[Loss, Loss] = (plain_loss, plain_loss)
    dtype: torch.dtype = torch.float32
    hand_over: bool = False


def _switch(model: Net, _x: torch.Tensor) -> None:
    model.middle.planted = True


def _into_weight(value: float) -> Callable[[Net, torch.Tensor], None]:
    return lambda model, _x: write_into_weight(model, value)


def _into_batch(_model: Net, x: torch.Tensor) -> None:
    x[0, 0] = float("nan")


FAULTS = {
    "log-of-zero-in-loss": Planted(Net, loss=(plain_loss, log_loss)),
    "log-of-zero-in-loss-handed-over": Planted(Net, loss=(plain_loss, log_loss), hand_over=True),
    "log-of-zero-in-model": Planted(lambda: Net(Logarithm()), _switch),
    "length-zero-in-model": Planted(lambda: Net(Unit()), _switch),
    "weight-nan": Planted(Net, _into_weight(float("nan"))),
    "weight-huge": Planted(Net, _into_weight(3e38)),
    "norm-of-huge": Planted(lambda: Net(Large()), _switch),
    "fp16-overflow": Planted(lambda: Net(Gain()), _switch, dtype=torch.float16),
    "masked-row": Planted(lambda: Net(Attention()), _switch),
    "batch-nan": Planted(Net, _into_batch),
    "root-behind-where": Planted(lambda: Net(Root()), _switch),
}


def build(name: str, directory: Path) -> None:
    """Make the folder of one fault: the log, what the recorder wrote, the capsule, and its replay."""
    fault = FAULTS[name]
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    _train(fault, directory)
    model = fault.model().to(fault.dtype)
    if fault.plant is _switch:  # the fault is in the code, which a user's factory brings with it
        model.middle.planted = True
    replay = replay_capsule(directory / "capsule", model, _loss_of_batch(fault))
    write_trace(replay, directory / "replayed.jsonl")


def _loss_of_batch(fault: Planted) -> Any:
    targets = torch.arange(BATCH) % 4
    return lambda output, _batch: fault.loss[1](output, targets)


def _train(fault: Planted, directory: Path) -> None:
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)
    model = fault.model().to(fault.dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    target = torch.arange(BATCH) % 4
    recorder = record(
        model,
        directory / "replay.jsonl",
        capsule=directory / "capsule",
        write_on_exit=False,
        keep_steps=0,  # the bad steps alone, so that a folder stays small
        full_after_bad=0,
        max_bad_steps=1,
    )
    with recorder, (directory / "train.log").open("w", encoding="utf-8") as log:
        for step in range(STEPS):
            x = torch.randn(BATCH, WIDTH, dtype=fault.dtype)
            if step == BAD_STEP:
                fault.plant(model, x)
            loss = fault.loss[step >= BAD_STEP](model(x), target)
            if fault.hand_over:
                recorder.loss(loss)
            optimizer.zero_grad()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9)
            optimizer.step()
            print(f"step {step} loss {loss.item():.4f} grad_norm {norm.item():.4f} lr 5.0e-02", file=log)
