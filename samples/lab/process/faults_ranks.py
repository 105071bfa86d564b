"""Faults of a data-parallel job under torchrun with gloo: dead, late, absent and disagreeing ranks."""

from __future__ import annotations

import shlex
import signal
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from . import processes
from .data import labelled, write_shards
from .outcomes import ends_with
from .plan import Hit, Plan, ProcessFault

LOST_PEER = r"Connection closed by peer|Connection reset by peer|Broken pipe"
TIMED_OUT = (
    r"Timed out waiting \d+ms for (?:recv|send) operation to complete|Application timeout caused pair closure"
)
NOWHERE = "192.0.2.17"  # an address reserved for documentation: nobody owns it


def _ranks(plan: Plan) -> int:
    """How many ranks the launcher starts."""
    return int(plan.command.split("--nproc-per-node=")[1].split()[0])


def _step(plan: Plan) -> int:
    """A random logged step in the first two thirds of the job."""
    steps = plan.settings["epochs"] * 1280 // plan.settings["batch_size_per_rank"]
    plan.onset_step = plan.rng.randrange(plan.settings["log_every"], steps * 2 // 3)
    return plan.onset_step


def long_epochs(plan: Plan) -> None:
    """More epochs at a low rate, so that a signal from outside meets the job in the middle."""
    plan.settings |= {"epochs": 12, "learning_rate": 2e-4}


def _kill_rank(plan: Plan) -> None:
    rank, step = plan.rng.randrange(_ranks(plan)), _step(plan)
    plan.hit = Hit(
        processes.step_reached(step),
        processes.send(lambda run_dir: processes.rank_process(run_dir, rank), signal.SIGKILL),
    )
    plan.planted = f"SIGKILL from outside to rank {rank} after step {step}"


def _freeze_rank(plan: Plan) -> None:
    rank, step = plan.rng.randrange(_ranks(plan)), _step(plan)
    seconds = plan.settings["timeout_s"] + 4
    plan.hit = Hit(
        processes.step_reached(step),
        processes.freeze(lambda run_dir: processes.rank_process(run_dir, rank), seconds),
    )
    plan.planted = f"SIGSTOP from outside to rank {rank} after step {step}"


def _resize_shard(plan: Plan, rank: int, size: int) -> None:
    """Give one rank another number of records."""
    values, labels = labelled(np.random.default_rng(plan.rng.randrange(1 << 30)), size)
    np.savez(plan.run_dir / "data" / f"shard-{rank:02d}.npz", values=values, labels=labels)


def _uneven_shards(plan: Plan) -> None:
    rank, size = plan.rng.randrange(_ranks(plan)), plan.settings["batch_size_per_rank"]
    fewer = plan.rng.randint(1, 6)
    _resize_shard(plan, rank, 1280 - fewer * size)
    plan.onset_step = 1280 // size - fewer + 1
    plan.planted = f"rank {rank} has {fewer} steps fewer an epoch than the others"


def _ragged_batch(plan: Plan) -> None:
    rank, size = plan.rng.randrange(_ranks(plan)), plan.settings["batch_size_per_rank"]
    missing = plan.rng.randint(1, size - 1)
    _resize_shard(plan, rank, 1280 - missing)
    plan.settings["log_every"] = 1280 // size // 2  # so that the last batch of an epoch is gathered
    plan.onset_step = 1280 // size
    plan.planted = (
        f"the last batch of rank {rank} is {missing} records smaller, and all ranks gather its hits"
    )


def _other_width(plan: Plan) -> None:
    rank = plan.rng.randrange(1, _ranks(plan))
    path = plan.run_dir / "data" / f"shard-{rank:02d}.npz"
    with np.load(path) as table:
        values, labels = table["values"], table["labels"]
    np.savez(path, values=values[:, :20], labels=labels)
    plan.planted = f"the records of rank {rank} have 20 columns instead of 24, and its first layer with them"


def _bad_label_on_rank(plan: Plan) -> None:
    rank = plan.rng.randrange(_ranks(plan))
    path = plan.run_dir / "data" / f"shard-{rank:02d}.npz"
    with np.load(path) as table:
        values, labels = table["values"], table["labels"].copy()
    labels[plan.rng.randrange(len(labels))] = 10
    np.savez(path, values=values, labels=labels)
    plan.planted = f"a record of rank {rank} has the label 10 of 10 classes"


def _unused_head(plan: Plan) -> None:
    plan.settings["auxiliary_head"] = True
    plan.planted = "a second head takes no part in the loss"


def _slow_validation(plan: Plan) -> None:
    count = 120_000 * plan.rng.randint(4, 6)
    write_shards(
        plan.run_dir / "data",
        np.random.default_rng(plan.rng.randrange(1 << 30)),
        [1280] * _ranks(plan),
        count,
    )
    plan.onset_step = 1280 // plan.settings["batch_size_per_rank"]
    plan.planted = f"rank 0 alone validates on {count} records after each epoch"


@contextmanager
def _listening(port: int) -> Iterator[None]:
    """Another program that has the port."""
    with socket.socket(socket.AF_INET6) as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("::", port))
        taken.listen()
        yield


def _port(plan: Plan) -> int:
    """The port of the rendezvous."""
    return int(plan.command.split("--master-port=")[1].split()[0])


def _port_taken(plan: Plan) -> None:
    held: AbstractContextManager[Any] = _listening(_port(plan))
    plan.held = held
    plan.planted = f"another program listens on port {_port(plan)}"


def _join(plan: Plan, address: str) -> None:
    """This node is the second of two, and looks for the first one at `address`."""
    plan.environment |= {
        "MASTER_ADDR": address, "MASTER_PORT": str(_port(plan)), "RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "0",
    }  # fmt: skip
    plan.command = "python train.py"


def _nobody_there(plan: Plan) -> None:
    address = plan.rng.choice((NOWHERE, "127.0.0.1"))
    _join(plan, address)
    plan.planted = f"the address of rank 0 is {address}, where nobody listens"


def _unknown_name(plan: Plan) -> None:
    name = plan.rng.choice(("node-01.cluster.invalid", "gpu17.invalid", "trainer-0.jobs.invalid"))
    _join(plan, name)
    plan.planted = f"the address of rank 0 is {shlex.quote(name)}, which no name server knows"


RANKS_FAULTS = (
    ProcessFault(
        "rank_killed", "process-sigkilled", "ranks", _kill_rank, ends_with(r"exitcode\s*: -9 .*"),
        ("host-oom-kill",), setup=long_epochs, seconds=12,
    ),
    ProcessFault(
        "rank_frozen", "rank-host-stall", "ranks", _freeze_rank, ends_with(TIMED_OUT),
        ("nccl-timeout", "straggler-rank-timeout"), setup=long_epochs, seconds=22,
    ),
    ProcessFault(
        "uneven_steps", "nccl-timeout-rank-desync", "ranks", _uneven_shards, ends_with(TIMED_OUT),
        ("nccl-timeout",), seconds=20,
    ),
    ProcessFault(
        "rank_0_busy", "nccl-timeout-slow-rank", "ranks", _slow_validation, ends_with(TIMED_OUT, r"validating after"),
        ("nccl-timeout",), seconds=20,
    ),
    ProcessFault(
        "last_batch_ragged", "mismatched-collective", "ranks", _ragged_batch,
        ends_with(r"op\.preamble\.length <= op\.nbytes.*|Collective\w* .*mismatch.*", silent=TIMED_OUT), seconds=12,
    ),
    ProcessFault(
        "parameters_differ", "mismatched-collective", "ranks", _other_width,
        ends_with(r"params\[0\] in this process with sizes.*|DDP expects same model across all ranks.*"), seconds=12,
    ),
    ProcessFault(
        "rank_meets_bad_label", "label-out-of-range", "ranks", _bad_label_on_rank,
        ends_with(r"IndexError: Target \d+ is out of bounds"), seconds=12,
    ),
    ProcessFault(
        "unused_parameters", "ddp-unused-parameters", "ranks", _unused_head,
        ends_with(r"Expected to have finished reduction in the prior iteration"), seconds=12,
    ),
    ProcessFault(
        "port_taken", "rendezvous-port-in-use", "ranks", _port_taken, ends_with(r"EADDRINUSE|[Aa]ddress already in use"),
        ("rendezvous-timeout",),
    ),
    ProcessFault(
        "master_unreachable", "wrong-master-address", "ranks", _nobody_there,
        ends_with(r"DistNetworkError: .*|DistStoreError: .*|TCP client failed to connect.*"), ("rendezvous-timeout",), seconds=14,
    ),
    ProcessFault(
        "master_name_unknown", "rendezvous-hostname-unresolvable", "ranks", _unknown_name,
        ends_with(r"(?:getaddrinfo|gai error|hostname).*"), ("wrong-master-address", "rendezvous-timeout"), seconds=14,
    ),
)  # fmt: skip
