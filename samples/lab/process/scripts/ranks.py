"""Data-parallel training of a small classifier: torchrun train.py (reads train_config.yaml)."""

import logging
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
import yaml
from torch import nn
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("train")


class Network(nn.Module):
    """Two hidden layers, and a second head that only some settings use."""

    def __init__(self, columns: int, width: int, classes: int, auxiliary_head: bool) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(columns, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.head = nn.Linear(width, classes)
        self.auxiliary = nn.Linear(width, classes) if auxiliary_head else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Class scores."""
        return self.head(self.body(x))


def shard(config: dict[str, Any], rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The records of this rank."""
    table = np.load(Path(config["data"]) / f"shard-{rank:02d}.npz")
    return torch.from_numpy(table["values"]), torch.from_numpy(table["labels"])


def validate(model: nn.Module, config: dict[str, Any]) -> float:
    """Mean loss over the validation records, one by one as in production."""
    table = np.load(Path(config["data"]) / "validation.npz")
    values, labels = torch.from_numpy(table["values"]), torch.from_numpy(table["labels"])
    pairs = zip(values.split(1), labels.split(1), strict=True)
    with torch.no_grad():
        losses = [nn.functional.cross_entropy(model(value), label) for value, label in pairs]
    return torch.stack(losses).mean().item()


def train(config: dict[str, Any], rank: int) -> None:
    """All epochs; rank 0 reports, validates and saves."""
    values, labels = shard(config, rank)
    torch.manual_seed(config["seed"])
    network = Network(values.shape[1], config["width"], config["classes"], config["auxiliary_head"])
    model = DistributedDataParallel(network)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["learning_rate"])
    size, step = config["batch_size_per_rank"], 0
    log.info("%d records on this rank, %d steps an epoch", len(labels), -(-len(labels) // size))
    for epoch in range(config["epochs"]):
        order = torch.randperm(len(labels))
        for start in range(0, len(labels), size):
            chosen = order[start : start + size]
            output = model(values[chosen])
            loss = nn.functional.cross_entropy(output, labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % config["log_every"] == 0:
                hits = (output.argmax(1) == labels[chosen]).float()
                everyones = torch.zeros(dist.get_world_size() * len(hits))
                dist.all_gather_into_tensor(everyones, hits)
                if rank == 0:
                    rate, accuracy = optimizer.param_groups[0]["lr"], everyones.mean()
                    log.info(
                        "epoch %d step %d loss %.4f accuracy %.3f lr %.2e", epoch, step, loss, accuracy, rate
                    )
        if rank == 0:
            log.info("validating after epoch %d", epoch)
            log.info("epoch %d step %d val_loss %.4f", epoch, step, validate(network, config))
        dist.barrier()
    dist.monitored_barrier(timeout=timedelta(seconds=config["timeout_s"]))
    if rank == 0:
        torch.save(network.state_dict(), "model.pt")
        log.info("training finished after %d steps, saved model.pt", step)


@record
def main() -> None:
    """Join the group, train, leave the group."""
    config = yaml.safe_load(Path("train_config.yaml").read_text())
    rank = int(os.environ["RANK"])
    torch.set_num_threads(1)
    logging.basicConfig(
        level=logging.INFO, format=f"%(asctime)s [rank {rank}] %(levelname)s %(name)s: %(message)s"
    )
    dist.init_process_group("gloo", timeout=timedelta(seconds=config["timeout_s"]))
    train(config, rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
