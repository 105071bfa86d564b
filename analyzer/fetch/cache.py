"""The cache of fetched runs: where a run lies, who may write it, and which of its states are complete.

    <cache>/wandb/1/<host>/<entity>/<project>/<run id>/
        lock
        20260102T030405-crashed-5f0c2d9e71ab/         one state of the run: last update, state, digest
            complete.json                             written last; without it the state is half fetched
            parts/                                    pieces, each renamed into place when it is whole
            run-20260102_010203-<run id>/             what the ingestors read

The folder comes from ``ANALYZER_CACHE_DIR``, else it is ``~/.cache/analyzer``. A piece that is whole is never fetched
again, so that a break costs one piece. One process writes a run at a time, others wait for it.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from analyzer.errors import FetchError
from analyzer.fetch.address import RunAddress
from analyzer.vocabulary.cache import cache_directory, whole_file

_LAYOUT = "1"
"""Changes whenever what is stored, or how, changes."""

_SAFE = re.compile(r"[^A-Za-z0-9._-]")
_KEPT_S = 3_600.0
"""An older state of a run may still be being read; after an hour it is removed."""

COMPLETE = "complete.json"


def safe_name(text: str) -> str:
    """A name of one folder that different texts never share, whatever stands in them.

    >>> safe_name("3n17wxwa")
    '3n17wxwa'
    >>> safe_name("../my run")[:12]
    '_.._my_run-8'
    """
    plain = _SAFE.sub("_", text)[:80]
    # A file system may not tell upper from lower case.
    if plain == text.lower() and plain[:1].isalnum():
        return plain
    return f"_{plain}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def state_name(described: Mapping[str, Any]) -> str:
    """Name of a run's state, from what the server says about it: equal as long as nothing changes."""
    marks = [
        described.get(key) for key in ("heartbeat_at", "state", "rows", "created_at", "config", "summary")
    ]
    digest = hashlib.sha256(json.dumps(marks, sort_keys=True).encode()).hexdigest()[:12]
    moment = re.sub(r"[^0-9T]", "", str(described.get("heartbeat_at") or described.get("created_at") or ""))[
        :15
    ]
    return f"{moment or 'unknown'}-{safe_name(str(described.get('state') or 'unknown'))[:20]}-{digest}"


class CachedRun:
    """The place of one run in the cache."""

    def __init__(self, address: RunAddress) -> None:
        self.address = address
        names = (address.server.name, address.entity, address.project, address.run_id)
        self.directory = cache_directory().joinpath("wandb", _LAYOUT, *(safe_name(name) for name in names))

    def latest(self) -> Path | None:
        """Run directory of the newest state that is complete."""
        if not _is_own(cache_directory() / "wandb"):
            return None
        try:
            states = [place for place in self.directory.iterdir() if (place / COMPLETE).is_file()]
        except OSError:
            return None
        return self._run_in(max(states, key=_fetched_s)) if states else None

    def complete(self, state: str) -> Path | None:
        """Run directory of one state, if it is complete."""
        if not _is_own(cache_directory() / "wandb"):
            return None
        return self._run_in(self.directory / state)

    def _run_in(self, state: Path) -> Path | None:
        try:
            name = json.loads((state / COMPLETE).read_text(encoding="utf-8"))["directory"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        found = state / str(name)
        return found if found.is_dir() and found.parent == state else None

    def begin(self, state: str) -> Path:
        """Folder in which a state is put together; pieces of an earlier attempt are in it.

        Raises:
            FetchError: The cache cannot be written.
        """
        place = self.directory / state
        with _writable(place):
            _make_private(cache_directory() / "wandb")
            (place / "parts").mkdir(parents=True, exist_ok=True, mode=0o700)
        return place

    def finish(self, state: str, name: str) -> Path:
        """Declare a state, and the run directory of a name in it, complete and remove what it makes needless.

        Raises:
            FetchError: The cache cannot be written.
        """
        place = self.directory / state
        done = json.dumps({"directory": name, "fetched_s": time.time()})
        with _writable(place), whole_file(place / COMPLETE, ".write-") as stream:
            stream.write(done.encode())
        shutil.rmtree(place / "parts", ignore_errors=True)
        for other in self.directory.iterdir():
            if other.is_dir() and other != place and time.time() - _fetched_s(other) > _KEPT_S:
                shutil.rmtree(other, ignore_errors=True)
        return place / name

    @contextmanager
    def locked(self, wait_s: float) -> Iterator[None]:
        """Hold the run for writing; the lock goes with the process, however that ends.

        Raises:
            FetchError: The cache cannot be written, or another process holds the run for longer than ``wait_s``.
        """
        with _writable(self.directory):
            _make_private(cache_directory() / "wandb")
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self._wait(descriptor, time.monotonic() + wait_s)
            yield
        finally:
            os.close(descriptor)

    def _wait(self, descriptor: int, until_s: float) -> None:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until_s:
                    raise FetchError(
                        f"{self.address.path}: another process has been fetching this run for long; wait for it"
                        " or end it, then try again",
                        kind="timeout",
                    ) from None
                time.sleep(0.2)
            except OSError:  # a file system without locks: pieces are renamed into place all the same
                return
            else:
                return


def _make_private(place: Path) -> None:
    """Make a folder that only its owner enters; all that is fetched lies below it.

    Raises:
        PermissionError: It belongs to somebody else, who could put runs of his own into it.
    """
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not _is_own(place):
        raise PermissionError(errno.EACCES, "it belongs to another user")
    if place.stat().st_mode & 0o077:
        place.chmod(0o700)


def _is_own(place: Path) -> bool:
    try:
        return place.stat().st_uid == os.geteuid()
    except OSError:
        return False


def _fetched_s(state: Path) -> float:
    try:
        return (state / COMPLETE).stat().st_mtime
    except OSError:
        pass
    try:
        return state.stat().st_mtime
    except OSError:
        return 0.0


@contextmanager
def _writable(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FetchError(
            f"{place}: the cache cannot be written ({error.strerror or error}); free it or set ANALYZER_CACHE_DIR"
            " to a folder that can be",
            kind="cache",
        ) from error
