"""Fit a small network to a table with the Hugging Face Trainer: python train.py (reads train_config.yaml)."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
import yaml
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, set_seed


class Rows(Dataset[dict[str, torch.Tensor]]):
    """table.npz holds `values` (rows, columns) and `target` (rows)."""

    def __init__(self, path: str) -> None:
        table = np.load(path)
        self.values, self.target = torch.from_numpy(table["values"]), torch.from_numpy(table["target"])

    def __len__(self) -> int:
        return len(self.target)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"values": self.values[index], "labels": self.target[index]}


class Network(nn.Module):
    """Hidden layers with GELU; returns the mean squared error with its prediction."""

    def __init__(self, columns: int, width: int, layers: int) -> None:
        super().__init__()
        sizes = [columns, *[width] * layers]
        hidden = [nn.Sequential(nn.Linear(a, b), nn.GELU()) for a, b in pairwise(sizes)]
        self.stack = nn.Sequential(*hidden, nn.Linear(width, 1))

    def forward(self, values: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """Loss and prediction."""
        prediction = self.stack(values).squeeze(-1)
        return {"loss": nn.functional.mse_loss(prediction, labels), "prediction": prediction}


def main() -> None:
    """Read the settings, train, save."""
    config = yaml.safe_load(Path("train_config.yaml").read_text())
    torch.set_num_threads(1)
    args = TrainingArguments(use_cpu=True, **config["training"])
    set_seed(args.seed)
    rows = Rows(config["data"])
    print(f"{len(rows)} rows of {rows.values.shape[1]} columns", flush=True)
    model = Network(rows.values.shape[1], config["width"], config["layers"])
    trainer = Trainer(model=model, args=args, train_dataset=rows)
    trainer.train()
    trainer.save_state()
    print(f"training finished after {trainer.state.global_step} steps", flush=True)


if __name__ == "__main__":
    main()
