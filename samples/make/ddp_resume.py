"""A job that is stopped and resumed, with and without the optimizer's state in its checkpoint.

Weights, step, learning rate and the order of the data go on exactly; only Adam's moments differ. With fresh moments
the first steps are about four times as long as those before, and most of them point the same way.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from .common import RunResult, Source, new_run_dir, publish, run_training, write_source, write_yaml

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPT = Path(__file__).with_name("ddp_resume_train.py")
RANKS = 2
STOP, END = 320, 600
PORT = 29513
BRANCHES = 2  # words that may follow a word; the first of them nearly always does
CONFIG: dict[str, Any] = {
    "data": "tokens.pt",
    "vocabulary": 256,
    "width": 64,
    "seed": 17,
    "batch_size_per_rank": 32,
    "learning_rate": 0.04,
    "betas": [0.95, 0.999],
    "save_optimizer": False,
}


def _write_data(path: Path) -> None:
    """Sequences in which one of two words follows, the same one in 19 of 20 cases."""
    draw = torch.Generator().manual_seed(CONFIG["seed"])
    following = torch.randint(0, CONFIG["vocabulary"], (CONFIG["vocabulary"], BRANCHES), generator=draw)
    words = [torch.randint(0, CONFIG["vocabulary"], (8192,), generator=draw)]
    for _ in range(23):
        rare = (torch.rand(8192, generator=draw) < 0.05).long()
        words.append(following[words[-1], rare])
    torch.save(torch.stack(words, dim=1), path)


def _make(dest: Path, title: str, planted: str, shows: str, changes: dict[str, Any]) -> None:
    """Run both launches into one console log, as `torchrun ... | tee -a train.log` does, and publish it."""
    run_dir = new_run_dir(dest.name)
    write_yaml(run_dir / "train_config.yaml", CONFIG | changes)
    _write_data(run_dir / "tokens.pt")
    launcher = ["torchrun", f"--nproc-per-node={RANKS}", f"--master-port={PORT}"]
    launch = partial(run_training, SCRIPT, run_dir, launcher=launcher, env={"GLOO_SOCKET_IFNAME": "lo"})
    first = launch(args=["--until", str(STOP)], log="first.log")
    second = launch(args=["--until", str(END), "--resume", f"checkpoint-{STOP}.pt"], log="second.log")
    log = run_dir / "train.log"
    log.write_bytes(first.log.read_bytes() + second.log.read_bytes())
    publish(run_dir, dest, ("train.log", "train.py", "train_config.yaml"))
    source = Source(
        title=title,
        shows=shows,
        planted=planted,
        genuine=f"torchrun with {RANKS} worker processes, DistributedDataParallel over gloo, both launches and their "
        "checkpoint, every line of train.log (the second launch is appended to the first).",
        shims="none. GLOO_SOCKET_IFNAME=lo keeps the connections on the loopback interface. Data and checkpoints are "
        "left out.",
        writeup="no write-up: what a lost optimizer state looks like.",
        limits="a tiny model at a learning rate near the largest that trains; at small rates the jump drowns in noise.",
        seed=str(CONFIG["seed"]),
        packages=("torch",),
        extra={
            "Launch": f"`torchrun --nproc-per-node={RANKS} train.py --until {STOP}`, then `torchrun "
            f"--nproc-per-node={RANKS} train.py --until {END} --resume checkpoint-{STOP}.pt`"
        },
    )
    write_source(dest, source, RunResult(second.rc, first.seconds + second.seconds, log))


SAMPLES: dict[str, Callable[[Path], None]] = {
    "failed/ddp-resume-optimizer-lost": partial(
        _make,
        title="Resumed from a checkpoint without optimizer state",
        planted="`save_optimizer: false`: the checkpoint holds weights and step only, and the script says nothing.",
        shows=f"the loss jumps after the restart at step {STOP + 1} and decays over tens of steps.",
        changes={},
    ),
    "healthy/ddp-resume-complete": partial(
        _make,
        title="Resumed from a complete checkpoint",
        planted="nothing: the same job with `save_optimizer: true`.",
        shows=f"the loss goes on at step {STOP + 1} where it was.",
        changes={"save_optimizer": True},
    ),
}
