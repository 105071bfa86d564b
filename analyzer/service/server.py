"""The addresses of ``analyzer serve``.

POST /diagnoses        {"path": "runs/7b"}, or the file itself (a log, zip or tar) with ?name=train.log
GET  /diagnoses/1      {"state": "done", …}; ?format=json|markdown|terminal|brief|html gives the answer
GET  /health  /metrics
"""

from __future__ import annotations

import hmac
import itertools
import json
import queue
import shutil
import tempfile
import threading
import time
from collections import Counter, OrderedDict
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from analyzer.api import Study
from analyzer.desk import Desk
from analyzer.errors import AnalyzerError, InputError
from analyzer.ingest.masking import safe_name
from analyzer.record import dataclass, field
from analyzer.version import __version__

MAX_UPLOAD = 512 * 1024**2
"""Bytes of an upload; a larger run is submitted by its path."""

MAX_JSON = 64 * 1024
PATIENCE_S = 30.0
"""Seconds without a byte after which a connection is closed."""

_KINDS = {"json": "application/json", "html": "text/html", "markdown": "text/markdown"}
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


class Service(ThreadingHTTPServer):
    """The service, ready to ``serve_forever``.

    Args:
        address: Host and port.
        jobs: Where submissions go.
        uploads: Folder for uploads, among those that may be looked into.
        token: What a caller must show; empty if only this machine is served.
    """

    daemon_threads = True

    def __init__(self, address: tuple[str, int], jobs: Jobs, uploads: Path, token: str = "") -> None:
        super().__init__(address, _Handler)
        self.jobs, self.uploads, self.token = jobs, uploads, token


class _Refused(Exception):  # noqa: N818  (an answer, not an error)
    """A request that gets another status than 200."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    server: Service
    server_version = f"analyzer/{__version__}"
    timeout = PATIENCE_S

    def do_GET(self) -> None:
        """Fetch."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Submit."""
        self._answer(self._post)

    def _answer(self, make: Any) -> None:
        try:
            self._allowed()
            status, kind, text = make(urlsplit(self.path))
        except _Refused as refused:
            status, kind, text = (
                refused.status,
                "application/json",
                json.dumps({"error": str(refused)}) + "\n",
            )
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def _allowed(self) -> None:
        """A page of a browser must not reach a local service under another name; others need the token."""
        host = urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
        if self.server.token:
            shown = self.headers.get("Authorization", "").removeprefix("Bearer ")
            if not hmac.compare_digest(shown.encode(), self.server.token.encode()):
                raise _Refused(401, "Authorization: Bearer TOKEN is missing or wrong")
        elif host not in LOCAL or self.headers.get("Origin") is not None:
            raise _Refused(403, "this service answers programs on this machine only")

    def _get(self, address: Any) -> tuple[int, str, str]:
        if address.path == "/health":
            return 200, "application/json", json.dumps({"status": "ok", "version": __version__}) + "\n"
        if address.path == "/metrics":
            return 200, "text/plain; version=0.0.4", _metrics(self.server.jobs)
        job = self.server.jobs.get(address.path.removeprefix("/diagnoses/"))
        if job is None:
            told = "POST /diagnoses, GET /diagnoses/ID[?format=…], /health and /metrics are what there is"
            kept = "no such diagnosis; the last 256 are kept"
            raise _Refused(404, kept if address.path.startswith("/diagnoses/") else told)
        wanted = parse_qs(address.query).get("format", [""])[0]
        if not wanted:
            return 200, "application/json", _state(job)
        if job.state != "done":
            raise _Refused(409, f"{job.state}: {job.problem}".rstrip(": "))
        if wanted not in job.pages:
            raise _Refused(400, f"format is one of {', '.join(job.pages)}")
        return 200, _KINDS.get(wanted, "text/plain"), job.pages[wanted]

    def _post(self, address: Any) -> tuple[int, str, str]:
        if address.path != "/diagnoses":
            raise _Refused(404, "POST /diagnoses")
        try:
            if self.headers.get_content_type() == "application/json":
                job = self.server.jobs.submit(self._path())
            else:
                job = self._uploaded(parse_qs(address.query).get("name", ["train.log"])[0])
        except Full:
            raise _Refused(503, "the queue is full; try again later") from None
        except InputError as error:
            raise _Refused(400, str(error)) from error
        return 202, "application/json", _state(job)

    def _length(self, most: int) -> int:
        text = self.headers.get("Content-Length", "")
        if not text.isdigit():
            raise _Refused(411, "Content-Length is missing")
        if int(text) > most:
            raise _Refused(413, f"at most {most} bytes")
        return int(text)

    def _path(self) -> str:
        try:
            data = json.loads(self.rfile.read(self._length(MAX_JSON)))
        except ValueError as error:
            raise _Refused(400, "the body is no JSON") from error
        path = data.get("path") if isinstance(data, dict) else None
        if not isinstance(path, str) or not path:
            raise _Refused(400, 'give {"path": "…"}')
        return path

    def _uploaded(self, name: str) -> Job:
        left = self._length(MAX_UPLOAD)
        folder = Path(tempfile.mkdtemp(dir=self.server.uploads))
        path = folder / (safe_name(Path(name).name) or "train.log")
        with path.open("wb") as stream:
            while left and (block := self.rfile.read(min(left, 1 << 20))):
                stream.write(block)
                left -= len(block)
        return self.server.jobs.submit(str(path), folder)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the name of the base class)
        """Nothing: /metrics counts, and the lines of a request hold names of users."""


def _state(job: Job) -> str:
    return (
        json.dumps({"id": job.id, "url": f"/diagnoses/{job.id}", "state": job.state, "problem": job.problem})
        + "\n"
    )


def _metrics(jobs: Jobs) -> str:
    rows = [
        "# TYPE analyzer_diagnoses_total counter",
        *(
            f'analyzer_diagnoses_total{{status="{name}"}} {count}'
            for name, count in sorted(jobs.statuses.items())
        ),
        "# TYPE analyzer_refused_total counter",
        f"analyzer_refused_total {jobs.refused}",
        "# TYPE analyzer_waiting gauge",
        f"analyzer_waiting {jobs.waiting}",
        "# TYPE analyzer_busy_seconds_total counter",
        f"analyzer_busy_seconds_total {jobs.busy_s:.3f}",
    ]
    return "\n".join(rows) + "\n"


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
    from analyzer.render import page_of, rendered_or_plain  # noqa: PLC0415  (the service answers before it renders)

    found = study.diagnosis
    return {
        name: rendered_or_plain(found, name, partial(page_of, found, name, study.run))
        for name in ("json", "markdown", "terminal", "brief", "html")
    }
