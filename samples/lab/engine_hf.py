"""Hugging Face Trainer around a session: its loop, its console rows, its trainer_state.json and TensorBoard files."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import set_seed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .session import Session


SCHEDULES = {"cosine": "cosine", "linear": "linear", "rsqrt": "inverse_sqrt"}
"""What Trainer calls the schedules; the rate itself comes from the session."""


class _Stream(torch.utils.data.IterableDataset):
    """The session's micro-batches, one item each."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __iter__(self) -> Iterator[dict[str, torch.Tensor]]:
        for inputs, targets in self._session.batches():
            yield {"inputs": inputs, "labels": targets}


class _Rows(torch.utils.data.Dataset):
    """The evaluation set of the run."""

    def __init__(self, session: Session) -> None:
        self._data = session.data

    def __len__(self) -> int:
        return len(self._data.shown_inputs)

    def __getitem__(self, row: int) -> dict[str, torch.Tensor]:
        return {"inputs": self._data.shown_inputs[row], "labels": self._data.shown_targets[row]}


class _Trainer(Trainer):
    """Trainer that takes batches and loss from the session."""

    session: Session

    def get_train_dataloader(self) -> Any:
        return torch.utils.data.DataLoader(self.train_dataset, batch_size=None)

    def compute_loss(self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, **_: Any) -> Any:
        outputs = model(inputs["inputs"], inputs["labels"])
        loss = outputs["loss"].float()
        if model.training:
            loss = self.session.injection.loss(
                self.state.global_step, loss, outputs["logits"], inputs["labels"]
            )
            if not loss.requires_grad:
                loss = loss + 0.0 * sum(p.sum() for p in model.parameters())
        return (loss, {"logits": outputs["logits"]}) if return_outputs else loss


class _Ground(TrainerCallback):
    """Lets the fault act between steps and records the ground truth."""

    def __init__(self, session: Session, losses: list[float]) -> None:
        self.session = session
        self.losses = losses
        self.started = 0.0

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.started = time.perf_counter()
        self.session.injection.before_step(state.global_step, self.session)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        seconds = time.perf_counter() - self.started
        self.session.step_done(state.global_step - 1, self.losses[-1], 0.0, seconds)
        if self.session.spec.stop_at and state.global_step >= self.session.spec.stop_at:
            control.should_training_stop = True

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **_: Any) -> None:
        self.session.truth.shown_eval.append((state.global_step, metrics["eval_loss"]))


def train(session: Session, directory: Path) -> None:
    """Train with Trainer and leave its files."""
    logging.getLogger("transformers").setLevel(logging.WARNING)
    spec = session.spec
    set_seed(spec.random_state)
    evaluates = "eval_loss" not in spec.dropped
    arguments = TrainingArguments(
        output_dir=str(directory),
        max_steps=spec.steps,
        per_device_train_batch_size=spec.batch_size,
        per_device_eval_batch_size=64,
        gradient_accumulation_steps=spec.accumulation,
        learning_rate=spec.learning_rate,
        lr_scheduler_type=SCHEDULES.get(spec.schedule, "constant_with_warmup"),
        max_grad_norm=spec.clip or 0.0,
        logging_steps=spec.log_every,
        logging_first_step=spec.seed % 2 == 0,
        logging_nan_inf_filter=spec.seed % 3 == 0,
        eval_strategy="steps" if evaluates else "no",
        eval_steps=spec.eval_every,
        save_strategy="no",
        report_to=["tensorboard"] if spec.seed % 2 else [],
        bf16=spec.precision in {"bf16", "fp16"},
        use_cpu=True,
        seed=spec.random_state,
        disable_tqdm=True,
        label_names=["labels"],
        remove_unused_columns=False,
        dataloader_pin_memory=False,
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        session.optimizer, lambda step: session.rate(step) / spec.learning_rate
    )
    trainer = _Trainer(
        model=session.network,
        args=arguments,
        train_dataset=_Stream(session),
        eval_dataset=_Rows(session),
        optimizers=(session.optimizer, schedule),
        compute_loss_func=None,
    )
    trainer.model_accepts_loss_kwargs = False
    trainer.session = session
    losses: list[float] = []
    _watch(trainer, losses)
    trainer.add_callback(_Ground(session, losses))
    trainer.train()
    session.injection.before_step(session.stop_after, session)
    trainer.state.save_to_json(str(directory / "trainer_state.json"))


def _watch(trainer: _Trainer, losses: list[float]) -> None:
    """Keep each step's true loss, which Trainer's own log averages and may filter."""
    step = trainer.training_step

    def observed(*arguments: Any, **keywords: Any) -> torch.Tensor:
        value = step(*arguments, **keywords)
        scale = trainer.args.gradient_accumulation_steps
        losses.append(float(value.detach()) * scale)
        return value

    trainer.training_step = observed  # type: ignore[method-assign]
