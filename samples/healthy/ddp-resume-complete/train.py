"""Data-parallel training in two launches: torchrun train.py --until 320, then --until 600 --resume checkpoint-320.pt."""

import argparse
import logging
import os
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import yaml
from torch import nn
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("train")


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


def batch_of(tokens: torch.Tensor, step: int, config: dict[str, Any]) -> torch.Tensor:
    """The rows of one step and rank: they depend on nothing else, so a resumed run goes on in the same order."""
    seed = config["seed"] + step * dist.get_world_size() + dist.get_rank()
    draw = torch.Generator().manual_seed(seed)
    return tokens[torch.randint(0, len(tokens), (config["batch_size_per_rank"],), generator=draw)]


def train(config: dict[str, Any], until: int, resume: str | None) -> None:
    """Train up to a step; rank 0 reports and saves."""
    torch.manual_seed(config["seed"])
    model = NextToken(config["vocabulary"], config["width"])
    optimizer = torch.optim.Adam(model.parameters(), lr=config["learning_rate"], betas=tuple(config["betas"]))
    first = 0
    if resume:
        checkpoint = torch.load(resume)
        model.load_state_dict(checkpoint["model"])
        first = checkpoint["step"]
        if "optimizer" in checkpoint:
            optimizer.load_state_dict(checkpoint["optimizer"])
        log.info("Resuming from checkpoint %s at step %d", resume, first)
    parallel = DistributedDataParallel(model)
    tokens = torch.load(config["data"])
    for step in range(first + 1, until + 1):
        loss = parallel(batch_of(tokens, step, config))
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.get_total_norm([p.grad for p in model.parameters()])
        optimizer.step()
        rate = optimizer.param_groups[0]["lr"]
        log.info("step %d loss %.4f grad_norm %.3f lr %.2e", step, loss.item(), norm, rate)
    if dist.get_rank() == 0:
        state = {"model": model.state_dict(), "step": until}
        if config["save_optimizer"]:
            state["optimizer"] = optimizer.state_dict()
        torch.save(state, f"checkpoint-{until}.pt")
        log.info("Saved checkpoint checkpoint-%d.pt", until)


def main() -> None:
    """Join the group, train, leave the group."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--until", type=int, required=True)
    parser.add_argument("--resume")
    options = parser.parse_args()
    config = yaml.safe_load(Path("train_config.yaml").read_text())
    level = logging.INFO if os.environ["RANK"] == "0" else logging.WARNING
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    dist.init_process_group("gloo")
    train(config, options.until, options.resume)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
