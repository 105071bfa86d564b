"""What was submitted, what is diagnosed now, and the answers that are kept."""

from __future__ import annotations

import itertools
import queue
import shutil
import threading
import time
from collections import Counter, OrderedDict
from pathlib import Path

from analyzer.api import Study
from analyzer.desk import Desk
from analyzer.errors import AnalyzerError
from analyzer.record import dataclass, field

KEPT = 256
"""Answers kept; a hook fetches its own within seconds."""


@dataclass
class Job:
    """One submission."""

    id: str  # its number, as text
    path: str  # what is diagnosed
    upload: Path | None = None  # folder to be deleted afterwards; None for a path of the machine
    state: str = "queued"  # ``queued``, ``running``, ``done`` or ``failed``
    problem: str = ""  # why it failed
    # the answer by format, made while the files are still there
    pages: dict[str, str] = field(default_factory=dict)


class Full(Exception):  # noqa: N818  (a state, not an error)
    """The queue is full: try again later."""


class Jobs:
    """A bounded queue and the thread that works it off.

    Args:
        desk: Folders that may be looked into; one that uploads lie in is among them.
        waiting: Submissions that may wait.
    """

    def __init__(self, desk: Desk, waiting: int) -> None:
        self._desk = desk
        self._queue: queue.Queue[Job] = queue.Queue(waiting)
        self._numbers = itertools.count(1)
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()
        self.statuses: Counter[str] = Counter()
        self.refused = 0
        self.busy_s = 0.0
        threading.Thread(target=self._work, daemon=True).start()

    @property
    def waiting(self) -> int:
        """Submissions that wait."""
        return self._queue.qsize()

    def submit(self, path: str, upload: Path | None = None) -> Job:
        """Queue a path.

        Raises:
            InputError: It is not allowed or not there.
            Full: The queue is full.
        """
        self._desk.place(path)
        job = Job(str(next(self._numbers)), path, upload)
        with self._lock:
            try:
                self._queue.put_nowait(job)
            except queue.Full:
                self.refused += 1
                raise Full from None
            self._jobs[job.id] = job
            while len(self._jobs) > KEPT:
                self._jobs.popitem(last=False)
        return job

    def get(self, number: str) -> Job | None:
        """A submission; None if it is unknown or too long ago."""
        with self._lock:
            return self._jobs.get(number)

    def _work(self) -> None:
        while True:
            job = self._queue.get()
            began_s = time.monotonic()
            job.state = "running"
            try:
                study = self._desk.study(job.path)
                job.pages = _pages(study)
                self.statuses[study.diagnosis.status] += 1
                job.state = "done"
            except AnalyzerError as error:
                job.problem, job.state = str(error), "failed"
            except Exception as error:  # noqa: BLE001  (one submission must not end the service)
                job.problem, job.state = f"a fault of analyzer ({type(error).__name__}: {error})", "failed"
            if job.state == "failed":
                self.statuses["unreadable"] += 1
            if job.upload is not None:
                shutil.rmtree(job.upload, ignore_errors=True)
            self.busy_s += time.monotonic() - began_s


def _pages(study: Study) -> dict[str, str]:
    from analyzer.render import report  # noqa: PLC0415  (the service answers before it renders)
    from analyzer.render.brief import render_brief  # noqa: PLC0415
    from analyzer.render.html import render_html  # noqa: PLC0415

    return {
        "json": report(study.diagnosis, "json"),
        "markdown": report(study.diagnosis, "markdown"),
        "terminal": report(study.diagnosis, "terminal"),
        "brief": render_brief(study.diagnosis, study.run),
        "html": render_html(study.diagnosis, study.run),
    }
