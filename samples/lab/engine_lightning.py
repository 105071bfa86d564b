"""Lightning around a session: its loop with its CSV or TensorBoard logger."""

from __future__ import annotations

import logging
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lightning
import torch
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .session import Session


class _Stream(torch.utils.data.IterableDataset):
    def __init__(self, session: Session) -> None:
        self._session = session

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        yield from self._session.batches()


class _Module(lightning.LightningModule):
    """The user's module: logs train_loss, val_loss, grad_norm and the learning rate."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.network = session.network
        self._session = session
        self._started = 0.0
        self._loss = 0.0
        self._norm = 0.0

    def configure_optimizers(self) -> Any:
        spec = self._session.spec
        schedule = torch.optim.lr_scheduler.LambdaLR(
            self._session.optimizer, lambda step: self._session.rate(step) / spec.learning_rate
        )
        return {
            "optimizer": self._session.optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }

    def training_step(self, batch: tuple[torch.Tensor, torch.Tensor], index: int) -> torch.Tensor:
        if index % self._session.spec.accumulation == 0:
            self._session.injection.before_step(self.global_step, self._session)
        outputs = self.network(*batch)
        loss = self._session.injection.loss(
            self.global_step, outputs["loss"].float(), outputs["logits"], batch[1]
        )
        if not loss.requires_grad:
            loss = loss + 0.0 * sum(p.sum() for p in self.network.parameters())
        self._loss = float(loss.detach())
        self.log("train_loss", loss.detach())
        if "learning_rate" not in self._session.spec.dropped:
            self.log("lr", self._session.optimizer.param_groups[0]["lr"])
        return loss

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        gradients = [p.grad.norm() for p in self.network.parameters() if p.grad is not None]
        self._norm = float(torch.stack(gradients).norm()) if gradients else 0.0
        if "grad_norm" not in self._session.spec.dropped:
            self.log("grad_norm", self._norm)

    def validation_step(self, batch: tuple[torch.Tensor, torch.Tensor], index: int) -> None:
        self.log("val_loss", self.network(*batch)["loss"].detach(), batch_size=len(batch[0]))

    def on_validation_epoch_end(self) -> None:
        value = self.trainer.callback_metrics.get("val_loss")
        if value is not None:
            self._session.truth.shown_eval.append((self.global_step, float(value)))


class _Ground(lightning.Callback):
    """Records the ground truth at each optimizer step."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._seen = 0
        self._started = time.perf_counter()

    def on_train_batch_end(self, trainer: Any, module: Any, *_: Any) -> None:
        if trainer.global_step > self._seen:
            self._seen = trainer.global_step
            now = time.perf_counter()
            self._session.step_done(self._seen - 1, module._loss, module._norm, now - self._started)  # noqa: SLF001
            self._started = time.perf_counter()


def train(session: Session, directory: Path) -> None:
    """Fit with Lightning and leave its files."""
    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    spec = session.spec
    logger_type = CSVLogger if spec.seed % 2 else TensorBoardLogger
    evaluates = "eval_loss" not in spec.dropped
    held_out = torch.utils.data.TensorDataset(session.data.shown_inputs, session.data.shown_targets)
    trainer = lightning.Trainer(
        max_steps=session.stop_after,
        accelerator="cpu",
        callbacks=[_Ground(session)],
        logger=logger_type(str(directory), name="logs"),
        log_every_n_steps=spec.log_every,
        val_check_interval=spec.eval_every * spec.accumulation if evaluates else None,
        check_val_every_n_epoch=None,
        limit_val_batches=1.0 if evaluates else 0,
        num_sanity_val_steps=0,
        accumulate_grad_batches=spec.accumulation,
        gradient_clip_val=spec.clip,
        precision="bf16-mixed" if spec.precision in {"bf16", "fp16"} else "32-true",
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(
        _Module(session),
        torch.utils.data.DataLoader(_Stream(session), batch_size=None),
        torch.utils.data.DataLoader(held_out, batch_size=64) if evaluates else None,
    )
    session.injection.before_step(session.stop_after, session)
