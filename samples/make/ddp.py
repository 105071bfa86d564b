"""Data-parallel jobs of several ranks under torchrun: a corrupt record, a killed rank, a rank that stands still.

The ranks are real processes that talk over PyTorch's gloo backend, and what hurts them is real: a truncated line in
the data file, a SIGKILL and a SIGSTOP from outside. The training script knows nothing of it.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch.utils.data import DistributedSampler

from .common import RunResult, Source, new_run_dir, publish, run_training, write_source, write_yaml
from .tiny_models import MarkovData

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SCRIPT = Path(__file__).with_name("ddp_train.py")
RECORDS = 8192
WORDS = 24
TIMEOUT_S = 15
CORRUPT_RANK, CORRUPT_STEP = 5, 150
PORT = 29511
CONFIG: dict[str, Any] = {
    "data": "data/train.jsonl",
    "vocabulary": 512,
    "width": 32,
    "seed": 11,
    "epochs": 2,
    "batch_size_per_rank": 4,
    "num_workers": 1,
    "learning_rate": 3.0e-3,
    "max_grad_norm": 1.0,
    "log_every": 10,
    "timeout_s": TIMEOUT_S,
}
KEEP = ("train.log", "train.py", "train_config.yaml", "logs/*/attempt_0/*/std*.log")
ERRORS = "logs/*/attempt_0/*/error.json"


def _write_data(path: Path, corrupt: int | None = None) -> None:
    """The records; the line at index `corrupt` breaks off in the middle, as after a cut download."""
    path.parent.mkdir()
    lines = [
        json.dumps({"id": f"doc-{index:06d}", "tokens": row.tolist()})
        for index, row in enumerate(MarkovData(RECORDS, WORDS, seed=CONFIG["seed"]).rows)
    ]
    if corrupt is not None:
        lines[corrupt] = lines[corrupt][: len(lines[corrupt]) // 2]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _record_at(rank: int, step: int, ranks: int) -> int:
    """Index of a record that the sampler gives to `rank` for `step` of the first epoch."""
    sampler = DistributedSampler(
        range(RECORDS), num_replicas=ranks, rank=rank, shuffle=True, seed=CONFIG["seed"]
    )
    return list(sampler)[step * CONFIG["batch_size_per_rank"] + 1]


def _environment(pid: int) -> list[bytes]:
    """Environment of a process, as it was started; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _worker_pid(run_dir: Path, rank: int) -> int:
    """The process of one rank of the job in `run_dir` (not one of its loader workers)."""
    mark = f"RANK={rank}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        pid = int(entry.name)
        if mark not in _environment(pid):
            continue
        parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        if mark not in _environment(parent) and (entry / "cwd").resolve() == run_dir.resolve():
            return pid
    raise RuntimeError(f"no process of rank {rank} in {run_dir}")


def _signal_at(run_dir: Path, rank: int, step: int, number: signal.Signals) -> None:
    """Send a signal to the process of one rank as soon as rank 0 has reported `step`."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        logs = run_dir.glob("logs/*/attempt_0/0/stderr.log")
        if any(f" step {step} " in path.read_text(encoding="utf-8") for path in logs):
            os.kill(_worker_pid(run_dir, rank), number)
            return
        time.sleep(0.02)


def _launch(run_dir: Path, ranks: int, options: Sequence[str], rc: int) -> RunResult:
    """Run the job under torchrun; the options say among others whether ranks write to the console too."""
    launcher = ["torchrun", f"--nproc-per-node={ranks}", f"--master-port={PORT}", "--log-dir=logs", *options]
    return run_training(SCRIPT, run_dir, launcher=launcher, env={"GLOO_SOCKET_IFNAME": "lo"}, expect_rc=rc)


def _make(
    dest: Path,
    *,
    ranks: int,
    title: str,
    planted: str,
    shows: str,
    options: Sequence[str] = ("--tee=3",),
    corrupt: bool = False,
    hit: tuple[int, int, signal.Signals] | None = None,
    num_workers: int = 1,
) -> None:
    """Run one job, harmed or not, and publish it. `hit` is (rank, step, signal)."""
    run_dir = new_run_dir(dest.name)
    write_yaml(run_dir / "train_config.yaml", CONFIG | {"num_workers": num_workers})
    index = _record_at(CORRUPT_RANK, CORRUPT_STEP, ranks) if corrupt else None
    _write_data(run_dir / "data" / "train.jsonl", index)
    thread = None
    if hit is not None:
        thread = threading.Thread(target=_signal_at, args=(run_dir, *hit), daemon=True)
        thread.start()
    failed = corrupt or hit is not None
    result = _launch(run_dir, ranks, options, rc=1 if failed else 0)
    publish(run_dir, dest, (*KEEP, ERRORS) if any(run_dir.glob(ERRORS)) else KEEP)
    write_source(dest, _source(title, planted, shows, ranks, " ".join(options)), result)


def _source(title: str, planted: str, shows: str, ranks: int, options: str) -> Source:
    """The facts common to these samples."""
    return Source(
        title=title,
        shows=shows,
        planted=planted,
        genuine=f"torchrun with {ranks} worker processes, DistributedDataParallel over gloo, the loader's worker processes, "
        f"what every rank wrote (logs/), the error files of @record, the launcher's console (train.log, {options}).",
        shims="none. GLOO_SOCKET_IFNAME=lo keeps the connections on the loopback interface. The data are left out.",
        writeup="no write-up: what a job of several ranks leaves when one of them fails.",
        limits="one host, CPU, gloo instead of NCCL: other words for a lost peer, and a process group timeout of "
        f"{TIMEOUT_S} s instead of minutes.",
        seed=str(CONFIG["seed"]),
        packages=("torch",),
        extra={"Launch": f"`torchrun --nproc-per-node={ranks} --log-dir=logs {options} train.py`"},
    )


SAMPLES: dict[str, Callable[[Path], None]] = {
    "failed/ddp-8-ranks-bad-record": partial(
        _make,
        ranks=8,
        title="Data-parallel job of 8 ranks: a corrupt record reaches rank 5",
        planted=f"one line of the data file breaks off in the middle; the sampler gives it to rank {CORRUPT_RANK} for "
        f"step {CORRUPT_STEP + 1}.",
        shows="JSONDecodeError in a loader worker of rank 5; the seven others lose the connection to it.",
        corrupt=True,
    ),
    "failed/ddp-8-ranks-one-killed": partial(
        _make,
        ranks=8,
        title="Data-parallel job of 8 ranks: one process is killed",
        planted="SIGKILL from outside to the process of rank 3, after step 120.",
        shows="exit code -9 of rank 3 in the launcher's report, which ends the others before they can say anything.",
        options=("--redirects=3",),
        hit=(3, 120, signal.SIGKILL),
    ),
    "failed/ddp-8-ranks-one-killed-late-report": partial(
        _make,
        ranks=8,
        title="Data-parallel job of 8 ranks: one process is killed, the launcher looks every 10 seconds",
        planted="SIGKILL from outside to the process of rank 3, after step 120; --monitor-interval=10, and no loader workers, which would keep the sockets of the killed process open.",
        shows="the others lose the connection to rank 3 and fail before the launcher looks, which then calls one of "
        "them the root cause: they left a time of failure, the killed process none.",
        options=("--redirects=3", "--monitor-interval=10"),
        hit=(3, 120, signal.SIGKILL),
        num_workers=0,
    ),
    "failed/ddp-4-ranks-rank-stalls": partial(
        _make,
        ranks=4,
        title="Data-parallel job of 4 ranks: one rank stands still",
        planted="SIGSTOP from outside to the process of rank 2, after step 120: it does not run on and says nothing.",
        shows=f"three ranks wait {TIMEOUT_S} s for an all-reduce and give up; rank 2 is silent.",
        hit=(2, 120, signal.SIGSTOP),
    ),
    "healthy/ddp-8-ranks-completes": partial(
        _make,
        ranks=8,
        title="Data-parallel job of 8 ranks that completes",
        planted="nothing: the job of failed/ddp-8-ranks-bad-record without the corrupt record",
        shows="both epochs, then every rank leaves with code 0.",
    ),
}
