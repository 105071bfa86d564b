"""The files of a run that a rule may want: logs, configuration, versions; under names that stay in their folder."""

from __future__ import annotations

import fnmatch
import itertools
import os
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, Self
from urllib.parse import urlsplit

from analyzer.fetch.limits import MIB, Limits
from analyzer.fetch.worker_piece import Piece

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
            from analyzer.fetch.worker_errors import explain  # noqa: PLC0415

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

    Attributes:
        overflowed: Whether more came.
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
