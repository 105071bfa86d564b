"""Literals by hyperscan: gigabytes a second, however many there are.

Its database is kept in ``ANALYZER_CACHE_DIR``, or else in the user's cache directory, because compiling takes
longer (40 ms) than all the rest. The file is named after versions, machine and literals and begins with its own
digest; one that is missing, damaged or of another machine is made again, and none is ever needed.
"""

from __future__ import annotations

import hashlib
import os
import platform
from contextlib import suppress
from pathlib import Path
from typing import Any

import hyperscan  # type: ignore[import-not-found,unused-ignore]

from analyzer.vocabulary.cache import whole_file

_DIGEST_BYTES = hashlib.sha256().digest_size

MAX_CACHED_BYTES = 64 << 20
"""A file larger than this is not ours: a thousand literals make half a megabyte."""


class HyperscanPrefilter:
    """See ``analyzer.ingest.text.scan.Prefilter``."""

    def __init__(self, literals: tuple[bytes, ...], database: Any) -> None:
        self.literals = literals
        self._lengths = [len(literal) for literal in literals]
        self._database = database

    def find(self, data: bytes) -> list[tuple[int, int]]:
        """See ``Prefilter.find``."""
        found: list[tuple[int, int]] = []
        if not self.literals or not data:
            return found
        append, lengths = found.append, self._lengths

        # One call a hit: nothing else may be in here.
        def note(index: int, _start: int, end: int, _flags: int, _context: object) -> None:
            append((end - lengths[index], index))

        self._database.scan(data, match_event_handler=note)
        found.sort()  # it reports by end
        return found


def make_prefilter(literals: tuple[bytes, ...]) -> HyperscanPrefilter:
    """The engine for some literals, from the cache if it is there."""
    path = _path(literals)
    database = _read(path)
    if database is None:
        database = _compiled(literals)
        _write(path, database)
    prefilter = HyperscanPrefilter(literals, database)
    prefilter.find(b"\n")  # a database that this CPU cannot run shows now
    return prefilter


def _compiled(literals: tuple[bytes, ...]) -> Any:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    # Hexadecimal, because the interface for literals ends them at a NUL.
    expressions = ["".join(f"\\x{byte:02x}" for byte in literal).encode() for literal in literals]
    count = len(literals)
    if count:
        database.compile(expressions=expressions, ids=list(range(count)), flags=[0] * count, elements=count)
    return database


def _path(literals: tuple[bytes, ...]) -> Path | None:
    version = getattr(hyperscan, "__version__", "")
    digest = hashlib.sha256(f"{version}\0{platform.machine()}\0{_cpu_flags()}".encode())
    for literal in literals:
        digest.update(len(literal).to_bytes(4, "little") + literal)
    with suppress(RuntimeError):  # no home directory
        return _directory() / f"literals-{digest.hexdigest()[:24]}.hs"
    return None


def _directory() -> Path:
    named = os.environ.get("ANALYZER_CACHE_DIR")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "analyzer"


def _cpu_flags() -> str:
    """What the CPU can do, where the system tells; a home directory may be shared by several machines."""
    with suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as stream:
        return next((line for line in stream if line.startswith(("flags", "Features"))), "")
    return platform.processor()


def _read(path: Path | None) -> Any:
    """The database of a file, or None."""
    if path is None:
        return None
    with suppress(OSError, ValueError, hyperscan.HyperscanError):
        if path.stat().st_size > MAX_CACHED_BYTES:
            return None
        data = path.read_bytes()
        body = data[_DIGEST_BYTES:]
        if body and hashlib.sha256(body).digest() == data[:_DIGEST_BYTES]:
            database = hyperscan.loadb(body, hyperscan.HS_MODE_BLOCK)
            database.scratch = hyperscan.Scratch(database)  # a loaded database has none
            return database
    return None


def _write(path: Path | None, database: Any) -> None:
    """Keep a database; a cache that cannot be written is no error."""
    if path is None:
        return
    with suppress(OSError, hyperscan.HyperscanError):
        body = hyperscan.dumpb(database)
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path, "literals-") as stream:
            stream.write(hashlib.sha256(body).digest() + body)
