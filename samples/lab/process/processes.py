"""Find the processes of a running job and hurt them: signals sent from outside at a step that the log shows."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .plan import Hit

_STEP = re.compile(rb"\bstep (\d+)\b")


def _parent(pid: int) -> int:
    """The parent of a process, 0 if it is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _of_job(run_dir: Path) -> list[int]:
    """All processes that run train.py in `run_dir`, oldest first."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            same = (entry / "cwd").resolve() == run_dir.resolve()
            line = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if same and b"train.py" in line and b"python" in line[0]:
            found.append(int(entry.name))
    return sorted(found)


def trainer(run_dir: Path) -> int:
    """The training process of a job without a launcher."""
    for pid in _of_job(run_dir):
        if _parent(pid) not in _of_job(run_dir):
            return pid
    raise LookupError("no training process")


def worker(run_dir: Path, index: int) -> int:
    """A loader worker of the training process."""
    main = trainer(run_dir)
    workers = [pid for pid in _of_job(run_dir) if _parent(pid) == main]
    if not workers:
        raise LookupError("no loader worker at this moment")
    return workers[index % len(workers)]


def rank_process(run_dir: Path, rank: int) -> int:
    """The process of one rank of a job under torchrun."""
    mark = f"RANK={rank}".encode()
    for pid in _of_job(run_dir):
        try:
            if mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                return pid
        except OSError:
            continue
    raise LookupError(f"no process of rank {rank}")


def step_reached(step: int) -> Callable[[Path], bool]:
    """True once a log shows a step of at least `step`."""

    def due(run_dir: Path) -> bool:
        logs = (run_dir / "train.log", *run_dir.glob("logs/*/attempt_0/*/stderr.log"))
        found = [number for log in logs if log.exists() for number in _STEP.findall(log.read_bytes())]
        return any(int(number) >= step for number in found)

    return due


def memory_above(limit_bytes: int) -> Callable[[Path], bool]:
    """True once the training process holds more memory than `limit_bytes`."""

    def due(run_dir: Path) -> bool:
        try:
            pages = int(Path(f"/proc/{trainer(run_dir)}/statm").read_text(encoding="utf-8").split()[1])
        except (OSError, LookupError):
            return False
        return pages * os.sysconf("SC_PAGE_SIZE") > limit_bytes

    return due


def send(find: Callable[[Path], int], number: signal.Signals) -> Callable[[Path], None]:
    """Send one signal to the process that `find` names."""

    def strike(run_dir: Path) -> None:
        os.kill(find(run_dir), number)

    return strike


def freeze(find: Callable[[Path], int], seconds: float) -> Callable[[Path], None]:
    """Stop a process for `seconds`; after that it may die of what was sent to it meanwhile."""

    def strike(run_dir: Path) -> None:
        pid = find(run_dir)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        if pid in _of_job(run_dir):
            os.kill(pid, signal.SIGCONT)

    return strike


def end_all(run_dir: Path) -> None:
    """Kill what is left of a job, its launcher included (only after a time limit there is anything)."""
    for pid in _of_job(run_dir):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def watch(hit: Hit, run_dir: Path, over: Callable[[], bool]) -> None:
    """Wait for the moment of `hit` and strike, until the run is `over`."""
    while not over():
        if hit.due(run_dir):
            try:
                hit.strike(run_dir)
            except (LookupError, ProcessLookupError):
                time.sleep(0.005)
                continue
            return
        time.sleep(0.01)
