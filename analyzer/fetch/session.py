"""The process that talks to a W&B server, as its owner sees it.

``wandb`` is imported in a process of its own (``analyzer.fetch.worker``): it cannot ask for a key there (no
terminal, no standard input), its settings and its telemetry switches are ours and do not touch the caller's, what
it prints is not seen, and a request that hangs is ended with it. Requests and answers are JSON, one per line::

    -> {"id": 1, "do": "describe", "entity": "acme", "project": "llm", "run_id": "3n17wxwa"}
    <- {"id": 1, "progress": {"what": "history", "done": 2000, "total": 5000}}
    <- {"id": 1, "answer": {...}}        or    {"id": 1, "error": {"kind": "not_found", "message": "..."}}
"""

from __future__ import annotations

import itertools
import json
import netrc
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from analyzer.errors import FetchError
from analyzer.fetch.address import RunAddress, RunSetAddress, Server, default_server
from analyzer.fetch.limits import Limits

_MAX_LINE = 64 << 20

LOOK_S = 0.5
"""How often the memory of the processes is checked; a fast connection delivers some hundred MB in that time."""

_PACKAGE_ROOT = Path(__file__).parents[2]

Progress = Callable[[Mapping[str, Any]], None]


class Session:
    """A connection to one server, good for many requests, also from several threads; of the bounds it uses those of time.

    Raises:
        FetchError: There is no key for the server.
    """

    def __init__(self, server: Server, limits: Limits) -> None:
        self.server = server
        self.limits = limits
        self._source = key_source(server)
        self._numbers = itertools.count(1)
        self._waiting: dict[int, queue.SimpleQueue[Mapping[str, Any]]] = {}
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def call(self, do: str, progress: Progress | None = None, **arguments: object) -> Any:
        """Send a request and wait for its answer.

        Args:
            do: One of the worker's verbs.
            progress: Called with what the worker tells meanwhile.
            arguments: JSON values.

        Raises:
            FetchError: As the worker says, or it is silent for too long, or it died.
        """
        number, answers = next(self._numbers), queue.SimpleQueue[Mapping[str, Any]]()
        with self._lock:
            process = self._started()
            waiting = self._waiting
            waiting[number] = answers
            self._send(process, {"id": number, "do": do, **arguments})
        try:
            return self._wait(answers, progress)
        finally:
            with self._lock:
                waiting.pop(number, None)

    def _wait(self, answers: queue.SimpleQueue[Mapping[str, Any]], progress: Progress | None) -> Any:
        now_s = time.monotonic()
        end_s, silent_s = now_s + self.limits.total_s, now_s + self.limits.stall_s
        while True:
            wait_s = min(silent_s, end_s) - time.monotonic()
            try:
                message = answers.get(timeout=max(min(wait_s, LOOK_S), 0.001))
            except queue.Empty:
                if wait_s <= LOOK_S:
                    raise self._silent() from None
                self._refuse_flood()
                continue
            silent_s = time.monotonic() + self.limits.stall_s
            if "answer" in message:
                return message["answer"]
            if "error" in message:
                error = message["error"]
                raise FetchError(str(error["message"]), kind=str(error["kind"]))
            if progress is not None and "progress" in message:
                progress(message["progress"])

    def _refuse_flood(self) -> None:
        """End the process if an answer takes more memory than any real one would."""
        with self._lock:
            if self._process is None or _resident_bytes(self._process.pid) <= self.limits.memory_bytes:
                return
            self._end()
        raise FetchError(
            f"{self.server.name} sent an answer that does not end: more than {self.limits.memory_bytes >> 20} MiB",
            kind="server",
        )

    def _silent(self) -> FetchError:
        """The error for a server that does not answer; the process is ended unless others wait for it."""
        refusals = self._refusals()
        with self._lock:
            if len(self._waiting) <= 1:
                self._end()
        if refusals:
            return FetchError(
                f"{self.server.name} limits your requests (HTTP 429); the waits that it asked for in Retry-After"
                f" were kept for {self.limits.stall_s:.0f} s; try again in a few minutes",
                kind="rate_limit",
            )
        return FetchError(
            f"{self.server.name} did not answer within {self.limits.stall_s:.0f} s; check the connection and try"
            " again (what was fetched is kept)",
            kind="timeout",
        )

    def _refusals(self) -> int:
        """How often the client's own log says that the server limits requests."""
        count = 0
        if self._scratch is not None:
            for log in Path(self._scratch.name).glob("client/wandb/logs/core-debug-*.log"):
                with suppress(OSError):
                    count += log.read_bytes()[-_MAX_LINE:].count(b'"status":429')
        return count

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._end()
        self._scratch = tempfile.TemporaryDirectory(prefix="anlz-", ignore_cleanup_errors=True)
        environment = dict(worker_environment(self.server, self._source, Path(self._scratch.name)))
        path = [str(_PACKAGE_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(path)
        self._process = subprocess.Popen(  # noqa: S603  (our own interpreter and module)
            [sys.executable, "-m", "analyzer.fetch.worker", self.server.api_url, self.server.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=self._scratch.name,  # a "wandb" folder in the user's directory must not be imported
            start_new_session=True,  # no terminal to ask on, and one group to end
        )
        self._waiting = {}
        threading.Thread(target=self._listen, args=(self._process, self._waiting), daemon=True).start()
        return self._process

    def _send(self, process: subprocess.Popen[bytes], request: Mapping[str, object]) -> None:
        stream = process.stdin
        if stream is None:  # never with PIPE
            return
        with suppress(OSError):  # a dead process is told by _listen
            stream.write(json.dumps(request).encode() + b"\n")
            stream.flush()

    def _listen(
        self, process: subprocess.Popen[bytes], waiting: Mapping[int, queue.SimpleQueue[Mapping[str, Any]]]
    ) -> None:
        stream = process.stdout
        while stream is not None and (line := stream.readline(_MAX_LINE)):
            try:
                message = json.loads(line)
                answers = waiting.get(message["id"])
            except (ValueError, KeyError, TypeError):
                continue
            if answers is not None:
                answers.put(message)
        died = {
            "kind": "server",
            "message": f"the process that talks to {self.server.name} ended unexpectedly; try again, and check that"
            ' this works: python -c "import wandb"',
        }
        with self._lock:
            for answers in waiting.values():
                answers.put({"error": died})

    def close(self) -> None:
        """End the process; whoever still waits for an answer gets an error."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):
                    if stream is not None:
                        stream.close()
        scratch, self._scratch = self._scratch, None
        if scratch is not None:
            scratch.cleanup()


def _resident_bytes(pid: int) -> int:
    """Memory of a process and of those that it started; 0 where it cannot be known."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
        children = [
            int(child)
            for listed in Path(f"/proc/{pid}/task").glob("*/children")
            for child in listed.read_text(encoding="ascii").split()
        ]
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(map(_resident_bytes, children))


_FROM_ENVIRONMENT = ("WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE")

# The client must use what the worker is given and must not talk, ask, report or join another client's process.
_REMOVED = (
    "WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE", "WANDB_SERVICE", "WANDB_DEBUG", "WANDB_CORE_DEBUG", "WANDB_MODE",
    "WANDB_RUN_ID", "WANDB_SWEEP_ID", "WANDB_ENTITY", "WANDB_PROJECT", "WANDB_DIR", "WANDB_CACHE_DIR",
)  # fmt: skip


def key_source(server: Server) -> str:
    """Name of the place that holds the key for a server: a variable or ``netrc``.

    Raises:
        FetchError: There is none, or one that belongs to another server.
    """
    _refuse_clear_text(server)
    held = [name for name in _FROM_ENVIRONMENT if os.environ.get(name, "").strip()]
    if held and default_server().name == server.name:
        return held[0]
    if _netrc_has(server):
        return "netrc"
    if held:
        raise FetchError(
            f"{held[0]} is for {default_server().name} and is not sent to {server.name};"
            f" if you trust that server set WANDB_BASE_URL={server.api_url} or run: wandb login --host {server.api_url}",
            kind="no_key",
        )
    host = "" if server.is_public else f" --host {server.api_url}"
    raise FetchError(
        f"no API key for {server.name}; set WANDB_API_KEY or run: wandb login{host}", kind="no_key"
    )


_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def _refuse_clear_text(server: Server) -> None:
    """Refuse ``http://`` to another machine, where everybody on the way could read the key, unless the user set it.

    Raises:
        FetchError: The address would send a key in clear.
    """
    split = urlsplit(server.api_url)
    if split.scheme == "https" or split.hostname in _LOOPBACK:
        return
    if os.environ.get("WANDB_BASE_URL", "").strip() and default_server() == server:
        return
    raise FetchError(
        f"{server.name}: no key is sent over http://, which everybody on the way can read; give the address with"
        f" https://, or set WANDB_BASE_URL={server.api_url} if you trust the way",
        kind="no_key",
    )


def _netrc_has(server: Server) -> bool:
    named = os.environ.get("NETRC")
    places = [Path(named)] if named else [Path("~/.netrc"), Path("~/_netrc")]
    hosts = [urlsplit(server.api_url).netloc]
    if server.is_public:
        hosts = ["api.wandb.ai", "api.forge.coreweave.com"]
    for place in places:
        try:
            entries = netrc.netrc(str(place.expanduser()))
        except (OSError, RuntimeError, netrc.NetrcParseError, UnicodeDecodeError):
            continue
        # W&B itself never takes the "default" entry for a key of its own
        if any(host in entries.hosts and entries.hosts[host][2] for host in hosts):
            return True
    return False


def worker_environment(server: Server, source: str, scratch: Path) -> Mapping[str, str]:
    """Variables under which the process runs that imports ``wandb``.

    ``WANDB_ERROR_REPORTING=false`` is all that the client offers against telemetry: it starts its service with
    ``--no-observability``, so that neither Sentry nor the server's ``/sdk/otel`` gets anything. Its one other
    request beside the data is ``Viewer``, with which it checks the key. ``WANDB_SILENT`` keeps it from talking
    and from asking for a key.

    Args:
        server: The server asked.
        source: As ``key_source`` gives it.
        scratch: Directory for what the client itself writes: logs, exports.
    """
    variables = {name: value for name, value in os.environ.items() if name not in _REMOVED}
    if source in _FROM_ENVIRONMENT:
        variables[source] = os.environ[source].strip()
    retries = {"MAX": "4", "WAIT_MIN_SECONDS": "1", "WAIT_MAX_SECONDS": "20"}
    for name, value in retries.items():
        variables.setdefault(f"WANDB__GRAPHQL_RETRY_{name}", value)
        variables.setdefault(f"WANDB__FILE_TRANSFER_RETRY_{name}", value)
    variables.setdefault("WANDB_HTTP_TIMEOUT", "30")
    return {
        **variables,
        "WANDB_BASE_URL": server.api_url,
        "WANDB_ERROR_REPORTING": "false",
        "WANDB_SILENT": "true",
        "WANDB_QUIET": "true",
        "WANDB_CONSOLE": "off",
        "WANDB_DISABLE_GIT": "true",
        "TMPDIR": str(scratch),  # the client leaves folders there when it is ended
        "WANDB_DIR": str(scratch),
        "WANDB_CACHE_DIR": str(scratch / "client"),
        "PYTHONUNBUFFERED": "1",
    }


def taken_for_a_run(address: RunAddress | RunSetAddress, error: FetchError) -> FetchError:
    """The error for a text like ``a/b/c``, which the user may have meant as a path."""
    if not isinstance(address, RunAddress) or not address.is_bare:
        return error
    return FetchError(
        f"{address.path}: no such file or directory, so it was taken for a W&B run: {error.message}",
        kind=error.kind,
    )
