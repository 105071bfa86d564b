"""Data-parallel training of a small next-token model: torchrun train.py (reads train_config.yaml)."""

import json
import logging
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import yaml
from torch import nn
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

log = logging.getLogger("train")


class Records(Dataset[torch.Tensor]):
    """One JSON object a line: {"id": ..., "tokens": [...]}, decoded when it is asked for."""

    def __init__(self, path: str) -> None:
        self.lines = Path(path).read_bytes().splitlines()

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor(json.loads(self.lines[index])["tokens"])


class NextToken(nn.Module):
    """Embedding, one recurrent layer, and a head."""

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.layer = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Mean cross entropy of every token after the first one."""
        hidden, _ = self.layer(self.embedding(tokens[:, :-1]))
        return nn.functional.cross_entropy(self.head(hidden).flatten(0, 1), tokens[:, 1:].flatten())


def train(config: dict[str, Any], rank: int) -> None:
    """All epochs; rank 0 reports."""
    dataset = Records(config["data"])
    sampler = DistributedSampler(dataset, shuffle=True, seed=config["seed"])
    loader = DataLoader(
        dataset,
        batch_size=config["batch_size_per_rank"],
        sampler=sampler,
        num_workers=config["num_workers"],
        drop_last=True,
    )
    torch.manual_seed(config["seed"])
    model = DistributedDataParallel(NextToken(config["vocabulary"], config["width"]))
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["learning_rate"])
    log.info("%d records, %d steps an epoch", len(dataset), len(loader))
    step = 0
    for epoch in range(config["epochs"]):
        sampler.set_epoch(epoch)
        for tokens in loader:
            loss = model(tokens)
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), config["max_grad_norm"])
            optimizer.step()
            step += 1
            if rank == 0 and step % config["log_every"] == 0:
                rate = optimizer.param_groups[0]["lr"]
                log.info(
                    "epoch %d step %d loss %.4f grad_norm %.3f lr %.2e", epoch, step, loss.item(), norm, rate
                )
    if rank == 0:
        torch.save(model.module.state_dict(), "model.pt")
        log.info("training finished after %d steps, saved model.pt", step)


@record
def main() -> None:
    """Join the group, train, leave the group."""
    config = yaml.safe_load(Path("train_config.yaml").read_text())
    rank = int(os.environ["RANK"])
    logging.basicConfig(
        level=logging.INFO, format=f"%(asctime)s [rank {rank}] %(levelname)s %(name)s: %(message)s"
    )
    dist.init_process_group("gloo", timeout=timedelta(seconds=config["timeout_s"]))
    train(config, rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
