"""Metric loggers of the plain loop: TensorBoard, CSV and W&B offline, each the real package."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .spec import Spec


class Writer(Protocol):
    """What the loop needs of a logger."""

    def log(self, step: int, values: dict[str, float]) -> None:
        """Write the metrics of one step under the run's own names."""

    def close(self) -> None:
        """Flush."""


class TensorBoardWriter:
    """`torch.utils.tensorboard`, one tag a metric."""

    def __init__(self, directory: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(directory))

    def log(self, step: int, values: dict[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        self._writer.close()


class CsvWriter:
    """One row a logged step, empty cells for what was not measured."""

    def __init__(self, directory: Path, columns: list[str]) -> None:
        self._file = (directory / "metrics.csv").open("w", newline="", encoding="utf-8")
        self._writer = csv.DictWriter(self._file, ["step", *columns])
        self._writer.writeheader()

    def log(self, step: int, values: dict[str, float]) -> None:
        self._writer.writerow({"step": step, **values})

    def close(self) -> None:
        self._file.close()


class WandbWriter:
    """W&B offline."""

    def __init__(self, directory: Path, spec: Spec) -> None:
        os.environ.update(
            WANDB_MODE="offline", WANDB_DIR=str(directory), WANDB_SILENT="true", WANDB_CONSOLE="off",
            WANDB_DISABLE_GIT="true", WANDB_DISABLE_CODE="true", WANDB_X_DISABLE_STATS="true", WANDB_HOST="trainbox",
        )  # fmt: skip
        import wandb

        config = {
            "learning_rate": spec.learning_rate,
            "batch_size": spec.batch_size,
            "optimizer": spec.optimizer,
        }
        self._run = wandb.init(
            project="lab",
            dir=str(directory),
            config=config,
            settings=wandb.Settings(x_disable_meta=True, host="trainbox"),
        )

    def log(self, step: int, values: dict[str, float]) -> None:
        self._run.log(values, step=step)

    def close(self) -> None:
        self._run.finish()


def make_writer(spec: Spec, directory: Path, columns: list[str]) -> Writer:
    """The logger that the spec asks for, writing below ``directory``."""
    if spec.writer == "tensorboard":
        return TensorBoardWriter(directory)
    if spec.writer == "wandb":
        return WandbWriter(directory, spec)
    return CsvWriter(directory, columns)
