"""Fetch one run, piece by piece, into a folder of the cache, and put it together as a run directory.

    parts/history-000.jsonl  parts/system.jsonl  parts/console.jsonl  parts/files/…      whole pieces only
    run-20260102_010203-<id>/run-<id>.jsonl                                               see ingest/wandb_download
    run-20260102_010203-<id>/files/config.yaml  output.log  wandb-metadata.json  …

Runs in the worker: ``run`` is a ``wandb.apis.public.Run``. Not for history and files themselves: see
``worker_history`` and ``worker_files``.
"""

from __future__ import annotations

import fnmatch
import itertools
import json
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Any, Self
from urllib.parse import urlsplit

from analyzer.errors import FetchError
from analyzer.fetch.limits import MIB, Limits
from analyzer.fetch.worker_errors import explain
from analyzer.fetch.worker_history import fetch_history
from analyzer.fetch.worker_piece import Piece, Tell

_TAIL_LINES = 10_000


class Download:
    """The download of one run.

    Args:
        run: The run.
        directory: Its folder in the cache; holds what an earlier attempt fetched.
        limits: Bounds.
        tell: Takes progress.
        server: Name of the server.
        api_url: Where its API is.
    """

    def __init__(
        self, run: Any, directory: Path, limits: Limits, tell: Tell, server: str, api_url: str
    ) -> None:
        self._run = run
        self._directory = directory
        self._server = server
        self._attributes: Mapping[str, Any] = run._attrs  # noqa: SLF001  (plain data, without the client's magic)
        self._piece = Piece(directory / "parts", limits, tell, api_url)

    def fetch(self) -> str:
        """Fetch all pieces and put the run directory together.

        Raises:
            FetchError: The history cannot be read to its end, or the server gives up on us.
        """
        for leftover in self._piece.parts.glob(".half-*"):
            leftover.unlink(missing_ok=True)
        with ThreadPoolExecutor(max_workers=self._piece.limits.threads) as pool:
            jobs: dict[Future[None], str] = {
                pool.submit(fetch_history, self._run, self._piece): "history",
                pool.submit(self._fetch_system): "system metrics",
                pool.submit(self._fetch_console): "console",
                pool.submit(fetch_files, self._run, self._piece): "files",
            }
            try:
                for job in as_completed(jobs):
                    self._settle(job, jobs[job])
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return self._put_together()

    def _settle(self, job: Future[None], what: str) -> None:
        """Let a piece that failed become a gap, unless nothing can be said without it or a later try may have it."""
        error = job.exception()
        if error is None:
            return
        failure = explain(error, server=self._server, what="/".join(map(str, self._run.path)))
        if what != "history" and not failure.is_transient:
            self._piece.gaps.append(f"{what}: not fetched: {failure.message}")
            return
        if what == "history" and failure.kind in {"server", "not_found"}:
            raise FetchError(
                f"{failure.message}; the history cannot be read to its end, what was fetched is kept: run the same"
                " command again to go on",
                kind="incomplete",
            ) from error
        raise failure from error

    def _fetch_system(self) -> None:
        """The stream of system metrics; the server thins it out if it is longer than we ask for."""
        if (self._piece.parts / "system.jsonl").exists():
            return
        wanted = self._piece.limits.system_rows
        rows = self._run.history(samples=wanted, stream="system", pandas=False)
        if len(rows) >= wanted:
            self._piece.gaps.append(
                f"system metrics: {wanted} rows, evenly chosen by the server, of a longer stream"
            )
        self._piece.write_rows("system.jsonl", rows, "system metrics")

    def _fetch_console(self) -> None:
        """The console lines with their times; old servers and clients have the file ``output.log`` only."""
        if (self._piece.parts / "console.jsonl").exists() or not hasattr(self._run, "console_logs"):
            return
        wanted = self._piece.limits.console_lines
        # The client's lists begin again with every loop; a generator goes on.
        lines = (line for line in self._run.console_logs())
        try:
            first = list(itertools.islice(lines, 1))
        except Exception as error:
            if explain(error, server=self._server, what="").is_transient:
                raise
            first, lines = (
                [],
                (line for line in self._run.console_logs(last=_TAIL_LINES)),
            )  # servers before 0.77
            self._piece.gaps.append(f"console lines: the server gives at most the last {_TAIL_LINES}")
        rows = _console_rows(itertools.chain(first, lines), wanted)
        if self._piece.write_rows("console.jsonl", rows, "console lines") == wanted:
            self._piece.gaps.append(
                f"console lines: only the first {wanted} were fetched; see output.log for the rest"
            )

    def _put_together(self) -> str:
        """Join the pieces; the run directory replaces a half-made one."""
        run_id = re.sub(r"[^A-Za-z0-9_-]", "_", str(self._run.id))
        started = _moment(self._attributes.get("createdAt")) or datetime.fromtimestamp(0, UTC)
        name = f"run-{started:%Y%m%d_%H%M%S}-{run_id}"
        parts, place = self._piece.parts, self._directory / name
        shutil.rmtree(place, ignore_errors=True)
        (place / "files").mkdir(parents=True)
        if (parts / "files").is_dir():
            shutil.copytree(parts / "files", place / "files", dirs_exist_ok=True, symlinks=True)
        self._write_config_and_summary(place / "files")
        with (place / f"run-{run_id}.jsonl").open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(json.dumps({"run": self._about()}) + "\n")
            for kind, pattern in (
                ("history", "history-*.jsonl"),
                ("system", "system.jsonl"),
                ("console", "console.jsonl"),
            ):
                for part in sorted(parts.glob(pattern)):
                    _wrap(part, kind, stream)
        self._set_times(place)
        return name

    def _write_config_and_summary(self, files: Path) -> None:
        """Configuration and summary in the form of the client's own files.

        The server's files are those of the last upload, which a run that was killed never made: its configuration
        is taken from the run, its summary if there is no such file.
        """
        config = {
            key: value
            for key, value in self._attributes.get("rawconfig", {}).items()
            if key != "wandb_version"
        }
        if config:
            lines = [
                f"{json.dumps(str(key))}: {json.dumps({'value': value})}" for key, value in config.items()
            ]
            text = "\n".join(["wandb_version: 1", *lines]) + "\n"  # JSON is YAML
            (files / "config.yaml").write_text(text, encoding="utf-8")
        summary = self._attributes.get("summaryMetrics")
        if summary and not (files / "wandb-summary.json").exists():
            (files / "wandb-summary.json").write_text(json.dumps(summary), encoding="utf-8")

    def _about(self) -> dict[str, object]:
        """What the run says about itself; names and addresses of people are left out."""
        get = self._attributes.get
        started, ended = _moment(get("createdAt")), _moment(get("heartbeatAt"))
        return {
            "format": 1,
            "server": self._server,
            "entity": str(self._run.entity),
            "project": str(self._run.project),
            "run_id": str(self._run.id),
            "state": str(self._run.state),
            "start_s": None if started is None else started.timestamp(),
            "heartbeat_s": None if ended is None else ended.timestamp(),
            "rows": get("historyLineCount"),
            "group": get("group"),
            "job_type": get("jobType"),
            "sweep": get("sweepName"),
            "tags": get("tags") or [],
            "gaps": self._piece.gaps,
        }

    def _set_times(self, place: Path) -> None:
        """Give every file the time of the run's last sign of life: a fresh copy does not make a run alive."""
        moment = _moment(self._attributes.get("heartbeatAt"))
        if moment is not None:
            for path in place.rglob("*"):
                with suppress(OSError):
                    os.utime(path, (moment.timestamp(), moment.timestamp()), follow_symlinks=False)


def _console_rows(lines: Iterable[Any], wanted: int) -> Iterator[dict[str, object]]:
    for count, line in enumerate(lines):
        if count >= wanted:
            return
        time = line.timestamp
        row: dict[str, object] = {"line": line.content, "time_s": None if time is None else time.timestamp()}
        if line.level:
            row["level"] = line.level
        if line.label:
            row["label"] = line.label
        yield row


def _wrap(part: Path, kind: str, stream: IO[str]) -> None:
    with part.open(encoding="utf-8", newline="\n") as rows:
        for row in rows:
            stream.write(f'{{"{kind}":{row.rstrip()}}}\n')


def _moment(text: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


_LOGS = ("*.log", "*.out", "*.err", "output.log")
_CONFIGS = ("*.yaml", "*.yml", "*.json", "*.toml", "*.ini", "*.cfg", "requirements*.txt")
# Pictures, tables and artifacts are no logs; there may be hundreds of thousands.
_NOT_WANTED = (
    "media/*",
    "artifact/*",
    "code/*",
    "diff.patch",
    "*.ipynb",
    "*.table.json",
    "wandb-history.jsonl",
    "wandb-events.jsonl",
)
_FIRST = ("output.log", "config.yaml", "wandb-metadata.json", "requirements.txt", "wandb-summary.json")

GROWTH_BYTES = 4 * MIB
"""A log may grow, beyond its announced size, while it is fetched: twice the size and this much."""

WATCHED_EVERY_S = 0.1

_MAX_NAME = 240
_MAX_DEPTH = 8


def safe_path(name: str) -> PurePosixPath | None:
    """Where a file of a server may lie below the folder of files; None for a name that leads out of it.

    >>> safe_path("logs/rank_0.log"), safe_path("../../.bashrc"), safe_path("/etc/passwd")
    (PurePosixPath('logs/rank_0.log'), None, None)
    """
    parts = name.split("/")
    if not name.isprintable() or "\\" in name or len(name) > _MAX_NAME or len(parts) > _MAX_DEPTH:
        return None
    if any(part in ("", ".", "..") or part.startswith("~") for part in parts):
        return None
    return PurePosixPath(*parts)


def is_wanted(name: str, size_bytes: int, limits: Limits) -> bool:
    """Whether a file may tell why a run failed and is not too large for its kind."""
    if any(fnmatch.fnmatchcase(name, pattern) for pattern in _NOT_WANTED):
        return False
    base = name.rpartition("/")[2]
    if any(fnmatch.fnmatchcase(base, pattern) for pattern in _LOGS):
        return size_bytes <= limits.log_bytes
    return (
        any(fnmatch.fnmatchcase(base, pattern) for pattern in _CONFIGS) and size_bytes <= limits.config_bytes
    )


def fetch_files(run: Any, piece: Piece) -> None:
    """Fetch the wanted files into ``parts/files``; those that are there already are kept."""
    place = piece.parts / "files"
    place.mkdir(exist_ok=True)
    chosen = _chosen(run, piece)

    def fetch(file: Any, path: PurePosixPath) -> None:
        target = place.joinpath(*path.parts)
        if target.exists():
            return
        try:
            _fetch_one(file, target, piece)
        except Exception as error:
            failure = explain(error, server="the server", what="")
            if failure.is_transient:
                raise
            piece.gaps.append(f"file {path}: not fetched: {failure.message}")
        finally:
            piece.count("files", 1, len(chosen))

    with ThreadPoolExecutor(max_workers=piece.limits.threads) as pool:
        for job in [pool.submit(fetch, file, path) for file, path in chosen]:
            job.result()


def _chosen(run: Any, piece: Piece) -> list[tuple[Any, PurePosixPath]]:
    """Files to fetch, the most telling ones first, within the bounds of number and size."""
    limits = piece.limits
    listed = list(itertools.islice(run.files(per_page=100), limits.listed_files))
    if len(listed) == limits.listed_files:
        piece.gaps.append(f"files: only the first {limits.listed_files} names were looked at")
    chosen: list[tuple[Any, PurePosixPath]] = []
    too_large: list[str] = []
    unsafe = size = 0
    for file in sorted(listed, key=lambda file: (file.name not in _FIRST, file.name.count("/"), file.name)):
        path = safe_path(file.name)
        if path is None:
            unsafe += 1
        elif file.size and is_wanted(str(path), 0, limits) and not is_wanted(str(path), file.size, limits):
            too_large.append(f"{path} ({file.size // MIB} MiB)")
        elif file.size and is_wanted(str(path), file.size, limits):
            size += file.size
            if len(chosen) >= limits.files or size > limits.files_bytes:
                piece.gaps.append(f"files: only the first {len(chosen)} were fetched")
                break
            chosen.append((file, path))
    if unsafe:
        piece.gaps.append(f"files: {unsafe} left out because their names lead out of the folder")
    if too_large:
        piece.gaps.append(f"files: too large to fetch: {', '.join(too_large[:3])}")
    return chosen


def _is_of_server(url: str, api_url: str) -> bool:
    """Whether a file lies on the server that was asked, so that neither it nor our key goes to another host.

    >>> _is_of_server("https://api.wandb.ai/files/a", "https://api.wandb.ai")
    True
    >>> _is_of_server("https://elsewhere.example/a", "https://api.wandb.ai")
    False
    >>> _is_of_server("http://api.wandb.ai/files/a", "https://api.wandb.ai")
    False
    """
    try:
        named, asked = urlsplit(url), urlsplit(api_url)
    except ValueError:
        return False
    if not named.netloc:
        return not named.scheme
    return named.netloc.lower() == asked.netloc.lower() and named.scheme == asked.scheme


class _Watched:
    """Keeps a file that somebody else writes from growing beyond a bound, while the context lasts.

    The client writes what the server sends, however much that is, and cannot be told to stop; what is beyond the bound
    is taken off the disk at once, and the server is left when it sends nothing else for long.
    """

    def __init__(self, folder: str, bound_bytes: int) -> None:
        self._folder, self._bound_bytes = Path(folder), bound_bytes
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.overflowed = False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(WATCHED_EVERY_S):
            for path in self._folder.rglob("*"):
                with suppress(OSError):
                    if path.is_file() and not path.is_symlink() and path.stat().st_size > self._bound_bytes:
                        self.overflowed = True
                        os.truncate(path, 0)


def _fetch_one(file: Any, target: Path, piece: Piece) -> None:
    """Fetch into a folder of its own, then rename into place."""
    if not _is_of_server(str(file.url), piece.api_url):
        piece.gaps.append(f"file {target.name}: left out: the server says that it lies on another host")
        return
    with tempfile.TemporaryDirectory(dir=piece.parts, prefix=".half-file-") as folder:
        bound = min(piece.limits.log_bytes, 2 * file.size + GROWTH_BYTES)
        with _Watched(folder, bound) as watched:
            file.download(root=folder, replace=True).close()
        fetched = Path(folder, *PurePosixPath(file.name).parts)
        if (
            watched.overflowed
            or not fetched.is_file()
            or fetched.is_symlink()
            or fetched.stat().st_size > bound
        ):
            piece.gaps.append(f"file {target.name}: left out: not what the server announced")
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        fetched.replace(target)
