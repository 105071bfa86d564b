"""Engines that are not ours: Dask, or any executor of ``concurrent.futures``, in batches of runs.

    --engine dask                        a cluster of processes on this machine
    --engine dask:tcp://10.0.0.1:8786    the scheduler of a cluster that is running; also a scheduler file
    --engine mpi4py.futures:MPIPoolExecutor
    --engine mysite.clusters:slurm       a function of yours that returns an executor, or a Dask client

Each engine worker keeps one process of our own under supervision, so that time and memory limits and the naming of a
culprit are the same everywhere. When the engine loses a worker itself, the batches that were under way are tried
again run by run.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from importlib import import_module
from typing import Any

from analyzer.errors import AnalyzerError, InputError
from analyzer.ingest.masking import clean_text
from analyzer.record import dataclass, field
from analyzer.triage.record import empty_record
from analyzer.triage.specs import Options, Task
from analyzer.triage.supervisor import BATCH, Supervisor
from analyzer.triage.worker import encode

LOSSES = 3
"""Times that the engine may lose a run before it is given up: once in a batch, twice by itself."""

_here = threading.local()


def run_batch(
    batch: Sequence[tuple[int, Mapping[str, Any]]], options: Mapping[str, Any]
) -> list[tuple[int, bytes]]:
    """What an engine's worker does: diagnose a batch in a supervised process that lives on for the next batch.

    Index and task of each come as plain data, and index and record (JSON) go back.
    """
    known = Options.from_dict(options)
    supervisor: Supervisor | None = getattr(_here, "supervisor", None)
    if supervisor is None or _here.options != known:
        if supervisor is not None:
            supervisor.close()
        supervisor = _here.supervisor = Supervisor(known, 1)
        _here.options = known
    indices = [index for index, _ in batch]
    answers = supervisor.run([Task.from_dict(task) for _, task in batch])
    return [(indices[position], payload) for position, payload in answers]


@dataclass
class _Batch:
    items: list[tuple[int, Task]]
    losses: int = 0


@dataclass
class ExecutorEngine:
    """Runs tasks on an executor."""

    make: Callable[[], Executor]  # gives a fresh executor; called again when the old one is broken
    options: Options  # what all runs share
    window: int  # batches under way at once
    _executor: Executor | None = field(default=None, init=False)
    _under_way: dict[Future[Any], _Batch] = field(default_factory=dict, init=False)

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, bytes]]:
        """Index and record (as JSON) of each task, in the order in which they are done."""
        numbered = list(enumerate(tasks))
        size = max(1, min(BATCH, len(numbered) // max(1, self.window)))
        queue = deque(_Batch(numbered[at : at + size]) for at in range(0, len(numbered), size))
        suspects: deque[_Batch] = deque()
        under_way = self._under_way
        while queue or suspects or under_way:
            while queue and len(under_way) < self.window:
                self._submit(queue.popleft())
            if not queue and not under_way and suspects:  # a suspect runs while nothing else does
                self._submit(suspects.popleft())
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                batch = under_way.pop(future)
                try:
                    error = future.exception()
                except (
                    CancelledError
                ) as lost:  # the scheduler of a cluster is gone, and all its futures with it
                    raise InputError(
                        "the engine lost its scheduler; what is done is kept, --resume goes on from there"
                    ) from lost
                if error is None:
                    yield from future.result()
                elif isinstance(error, AnalyzerError | KeyboardInterrupt):
                    raise error
                else:
                    yield from self._lost(batch, error, suspects)

    def _lost(
        self, batch: _Batch, error: BaseException, suspects: deque[_Batch]
    ) -> Iterator[tuple[int, bytes]]:
        if isinstance(error, BrokenExecutor):
            self._executor = None
        losses = batch.losses + 1
        if len(batch.items) > 1 or losses < LOSSES:
            suspects.extend(_Batch([item], losses) for item in batch.items)
            return
        index, task = batch.items[0]
        text = clean_text(str(error), 200)
        problem = f"the engine lost its worker {losses} times ({type(error).__name__}: {text})"
        yield index, encode(empty_record(task, outcome="failed", problem=problem))

    def _submit(self, batch: _Batch) -> None:
        plain = [(index, task.to_dict()) for index, task in batch.items]
        for last in (False, True):
            if self._executor is None:
                self._executor = self.make()
            try:
                self._under_way[self._executor.submit(run_batch, plain, self.options.to_dict())] = batch
            except BrokenExecutor:  # it broke between two answers; once with a new one
                self._executor = None
                if last:
                    raise
            else:
                return

    def close(self) -> None:
        """Give the executor back."""
        for future in self._under_way:  # after an interrupt; not every executor can cancel them by itself
            future.cancel()
        self._under_way.clear()
        if self._executor is not None:
            self._executor.shutdown(wait=False)
            self._executor = None


def make_executor_engine(
    name: str, options: Options, workers: int
) -> tuple[ExecutorEngine, Callable[[], None]]:
    """The engine that ``--engine`` names, and what is to be called at the end.

    Raises:
        InputError: There is no such engine, or it cannot be started.
    """
    if name == "dask" or name.startswith("dask:"):
        return _dask(name.partition(":")[2], options, workers)
    module, colon, attribute = name.partition(":")
    if not colon or not module or not attribute:
        raise InputError(
            f"{name}: not an engine; give local, dask, dask:ADDRESS or MODULE:CALLABLE that returns an executor"
        )
    try:
        make = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{name}: cannot be imported ({error})") from error

    def checked() -> Executor:
        made = make()
        if hasattr(made, "get_executor"):  # a Dask client
            made = made.get_executor(pure=False)
        if not hasattr(made, "submit"):
            raise InputError(
                f"{name}: returned {type(made).__name__}, which has no submit(); an executor is needed"
            )
        executor: Executor = made
        return executor

    engine = ExecutorEngine(checked, options, window=4 * workers)
    return engine, engine.close


def _dask(address: str, options: Options, workers: int) -> tuple[ExecutorEngine, Callable[[], None]]:
    try:
        distributed: Any = import_module("distributed")  # 0.4 s and only for this engine
    except ImportError as error:
        raise InputError(
            "the engine dask needs dask and distributed: pip install 'dask[distributed]'"
        ) from error
    for name in ["distributed", "asyncio", "tornado", *logging.root.manager.loggerDict]:
        if name.partition(".")[0] in {
            "distributed",
            "asyncio",
            "tornado",
        }:  # what is lost is told in one line, by us
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    cluster = None
    try:
        if not address:
            cluster = distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
            )
            client = distributed.Client(cluster)
        elif address.endswith(".json"):
            client = distributed.Client(scheduler_file=address, timeout=30)
        else:
            client = distributed.Client(address, timeout=30)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(
            f"dask:{address}: no scheduler answers there ({clean_text(str(error), 200)})"
        ) from error
    width = max(workers, sum(client.nthreads().values()))

    def close() -> None:
        engine.close()
        client.close()
        if cluster is not None:
            cluster.close()

    engine = ExecutorEngine(lambda: client.get_executor(pure=False), options, window=2 * width)
    return engine, close
