"""Worker processes that may die: each run that crashes, hangs, eats memory or kills its worker costs only itself.

A worker answers run by run, so that when it dies the culprit is the first run of its batch without an answer; the
rest of the batch goes to another worker. The culprit is tried once more, alone in a fresh process, and then reported
by name with the reason. Standard pools cannot do this: they lose every task of the pool, or wait for ever.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from analyzer.errors import InputError
from analyzer.ingest.masking import clean_text
from analyzer.record import dataclass, field
from analyzer.triage.plan import input_bytes
from analyzer.triage.record import empty_record
from analyzer.triage.specs import Options, Task
from analyzer.triage.worker import encode, too_much_memory

BATCH = 16
"""Runs given to a worker at once: with 16 the hand-over costs less than a thousandth of a small run."""

POLL_S = 0.2
"""Memory of the workers is looked at this often; a process fills about 1 GiB in that time."""

START_S = 120.0
"""A worker that is not ready after this long never will be; importing takes a quarter of a second."""

SLOWEST_BYTES_PER_S = 4_000_000
"""What a run holds is read at least that fast on a crowded machine (25 MB/s on an idle one): gigabytes get more time."""

RECYCLED_FROM_BYTES = 300 * 1024**2
"""A worker that a large run has left this big between batches is replaced; a fresh one takes 60 MiB."""

FRUITLESS_STARTS = 10
"""Workers that die before they are ready, one after another, before the cause is taken for a fault of the set-up: some
seconds, and more than a machine that kills for want of memory, or somebody by hand, is likely to meet in a row."""


@dataclass(slots=True)
class _Item:
    """A task on its way."""

    index: int
    task: Task
    failures: list[str] = field(default_factory=list)
    alone: bool = False
    killed: bool = False


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    batch: deque[_Item] = field(default_factory=deque)
    ready: bool = False
    since_s: float = field(default_factory=time.monotonic)
    buffer: bytearray = field(default_factory=bytearray)
    verdict: str = ""

    @property
    def pid(self) -> int:
        return self.process.pid


class Supervisor:
    """Runs tasks in worker processes."""

    def __init__(self, options: Options, workers: int, batch: int = BATCH) -> None:
        self._options = options
        self._count = max(1, workers)
        self._batch = batch
        self._selector = selectors.DefaultSelector()
        self._workers: list[_Worker] = []
        self._queue: deque[_Item] = deque()
        self._again: deque[_Item] = deque()
        self._fruitless = 0
        self.deaths = 0

    @property
    def pids(self) -> list[int]:
        """Process ids of the living workers."""
        return [worker.pid for worker in self._workers]

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, bytes]]:
        """Index and record (as JSON) of each task, in the order in which they are done.

        Raises:
            InputError: No worker can be started.
        """
        self._queue.extend(_Item(index, task) for index, task in enumerate(tasks))
        try:
            while self._queue or self._again or any(worker.batch for worker in self._workers):
                self._hand_out()
                for key, _ in self._selector.select(POLL_S):
                    yield from self._hear(key.data)
                yield from self._watch()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End all workers at once."""
        for worker in list(self._workers):
            self._bury(worker)
        self._queue.clear()
        self._again.clear()

    def _hand_out(self) -> None:
        while self._queue and len(self._workers) < self._count and self._idle() is None:
            self._hire()
        while self._queue and (worker := self._idle()) is not None:
            count = min(self._batch, max(1, len(self._queue) // (2 * self._count)))
            self._give(worker, [self._queue.popleft() for _ in range(count)])
        if self._queue or not self._again:
            return
        # Those that have failed once go last, each in a fresh process; one that killed its worker runs all alone.
        busy = [worker for worker in self._workers if worker.batch]
        if any(item.killed for worker in busy for item in worker.batch):
            return
        item = self._again[0]
        if (item.killed and busy) or len(busy) >= self._count:
            return
        for worker in [worker for worker in self._workers if not worker.batch]:
            self._bury(worker)
        self._again.popleft()
        self._give(self._hire(), [item])

    def _idle(self) -> _Worker | None:
        return next((worker for worker in self._workers if not worker.batch and not worker.verdict), None)

    def _hire(self) -> _Worker:
        errors = tempfile.TemporaryFile()  # noqa: SIM115  (lives as long as the worker)
        package = str(Path(__file__).resolve().parents[2])
        paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        process = subprocess.Popen(
            [sys.executable, "-m", "analyzer.triage.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **_ONE_THREAD},
            start_new_session=True,  # Ctrl-C is for the supervisor, which ends the workers itself
        )
        worker = _Worker(process, errors)
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        self._selector.register(process.stdout, selectors.EVENT_READ, worker)
        self._workers.append(worker)
        self._send(worker, {"options": self._options.to_dict()})
        return worker

    def _give(self, worker: _Worker, items: Sequence[_Item]) -> None:
        worker.batch.extend(items)
        worker.since_s = time.monotonic()
        self._send(worker, [{"index": item.index, "task": item.task.to_dict()} for item in items])

    @staticmethod
    def _send(worker: _Worker, message: Any) -> None:
        assert worker.process.stdin is not None
        try:
            worker.process.stdin.write(json.dumps(message).encode() + b"\n")
            worker.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has died; the end of its output says so

    def _hear(self, worker: _Worker) -> Iterator[tuple[int, bytes]]:
        assert worker.process.stdout is not None
        while worker in self._workers:
            data = worker.process.stdout.read(1 << 20)
            if data is None:
                return
            if not data:
                yield from self._died(worker)
                return
            worker.buffer += data
            *lines, rest = worker.buffer.split(b"\n")
            worker.buffer = bytearray(rest)
            for line in lines:
                yield from self._answer(worker, bytes(line))

    def _answer(self, worker: _Worker, line: bytes) -> Iterator[tuple[int, bytes]]:
        worker.since_s = time.monotonic()
        if line == b"ready":
            worker.ready = True
            self._fruitless = 0
            return
        number, word, payload = line.split(b" ", 2)
        item = worker.batch.popleft()
        assert item.index == int(number)
        if word == b"again" and not item.alone:
            item.alone = True
            self._again.append(item)
        else:
            yield item.index, payload
        if not worker.batch and (item.alone or _rss_bytes(worker.pid) > RECYCLED_FROM_BYTES):
            self._bury(worker)

    def _watch(self) -> Iterator[tuple[int, bytes]]:
        """End workers whose run takes too long or too much memory."""
        now = time.monotonic()
        for worker in [worker for worker in self._workers if worker.batch]:
            limit = self._options.timeout_s if worker.ready else START_S
            late = now - worker.since_s > limit
            if late and worker.ready:
                spec = worker.batch[0].task.spec
                limit += input_bytes([spec.location, *spec.extra]) // SLOWEST_BYTES_PER_S
            if late and now - worker.since_s > limit:
                worker.verdict = f"no answer within {limit:g} s (limit --timeout)"
            elif _rss_bytes(worker.pid) > self._options.memory_bytes + RECYCLED_FROM_BYTES:
                worker.verdict = too_much_memory(self._options)
            if worker.verdict:
                worker.process.kill()
                yield from self._died(worker)

    def _died(self, worker: _Worker) -> Iterator[tuple[int, bytes]]:
        reason = worker.verdict or _reason(worker)
        complaint = _last_line(worker.errors)
        batch, was_ready = list(worker.batch), worker.ready
        self._bury(worker)
        self.deaths += 1
        if not was_ready:
            self._fruitless += 1
            self._queue.extendleft(reversed([item for item in batch if not item.alone]))
            self._again.extend(item for item in batch if item.alone)
            if self._fruitless >= FRUITLESS_STARTS:
                raise InputError(
                    f"no worker can be started: {reason} ({complaint or 'no message'}); "
                    "what is done is kept, --resume goes on from there"
                )
            return
        if not batch:
            return
        culprit, *innocent = batch
        self._queue.extendleft(reversed(innocent))
        culprit.failures.append(f"{reason}: {complaint}" if complaint and not worker.verdict else reason)
        culprit.killed = not worker.verdict.startswith("no answer")
        if not culprit.alone:
            culprit.alone = True
            self._again.append(culprit)
            return
        yield culprit.index, encode(empty_record(culprit.task, outcome="failed", problem=_twice(culprit)))

    def _bury(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.process.kill()
        assert worker.process.stdout is not None
        assert worker.process.stdin is not None
        self._selector.unregister(worker.process.stdout)
        for stream in (worker.process.stdout, worker.process.stdin):
            with suppress(BrokenPipeError):  # a batch that it never read
                stream.close()
        worker.process.wait()
        worker.errors.close()


_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Workers are the parallelism; thread pools of numeric libraries would only cost start-up and memory."""


def _twice(item: _Item) -> str:
    reasons = list(dict.fromkeys(item.failures))
    return f"{'; then '.join(reasons)} (tried twice, the second time alone)"


def _reason(worker: _Worker) -> str:
    """How a worker ended, in words."""
    try:
        code = worker.process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        return "its worker closed its output"
    if code >= 0:
        return f"its worker ended with exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    return f"its worker was killed by {name}" + (
        " (by the system for want of memory, or by hand)" if name == "SIGKILL" else ""
    )


def _last_line(errors: IO[bytes]) -> str:
    """What a worker said last on standard error; the head of a fault dump where there is one."""
    try:
        end = errors.seek(0, os.SEEK_END)
        errors.seek(max(0, end - 4096))
        lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    except OSError:
        return ""
    fault = next((line for line in lines if line.startswith("Fatal Python error")), "")
    return clean_text(fault or (lines[-1] if lines else ""), 200)


def _rss_bytes(pid: int) -> int:
    """Resident memory of a process; 0 where it cannot be known."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as stream:  # noqa: PTH123  (read five times per second)
            return int(stream.read().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return 0


_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
