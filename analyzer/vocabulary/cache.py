"""Keep checked data files as JSON between runs, so that a diagnosis does not parse YAML.

A file lies in ``ANALYZER_CACHE_DIR``, or else in the user's cache directory. It is keyed by name, size and time of
the files that it was made of and by the format, holds data only, and is merely missing if it cannot be read or written.
Its first line is a checksum of the key and of what follows: a flipped bit or half a file is a missing file, not another
answer. The second is the data; the lines behind it are texts of which few are needed at a time, such as the rules. A file
that others may write, or that belongs to somebody else, is not read. Whoever writes removes what older versions left.
"""

from __future__ import annotations

import json
import os
import stat
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from analyzer.digest import sha256
from analyzer.lazy_regex import LazyRegex
from analyzer.version import __version__
from analyzer.vocabulary.marked import MarkedFile, load_marked, shown_path, text_of

MAX_BYTES = 64 << 20
"""The cache of 250 rules has 2 MB."""

FORMAT = "2"
"""Of the files: what one version wrote is a missing file to another."""

KEPT = 24
"""Files of one kind that stay: versions, checkouts and sets of packs that somebody uses side by side; made again in 3 s."""

_WRITTEN = LazyRegex(r"([a-z]{1,20})-(?:([0-9a-f]{24})\.json|\w{8}\.tmp)")
_MOST_LOOKED_AT = 10_000
"""Entries of the folder, which may hold files of others: a write stays short."""

_ABANDONED_S = 86_400.0
"""A file half written for a day belongs to a process that died."""


def cache_directory() -> Path:
    """Where analyzer keeps what it can make again: ``ANALYZER_CACHE_DIR``, else a folder in the user's caches."""
    named = os.environ.get("ANALYZER_CACHE_DIR")
    if named:
        return Path(named).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return ((Path(base) if base else Path.home() / ".cache") / "analyzer").absolute()


def key_of(files: Iterable[Path], *meaning: str) -> str:
    """Key of everything that decides what some files mean.

    Args:
        files: Files that the data is made of.
        meaning: What else decides: the format, names that the files may use.
    """
    parts = [__version__, FORMAT, *meaning]
    for path in map(str, files):  # hundreds at every start: a Path takes longer to ask than the system does
        state = os.stat(path)  # noqa: PTH116
        parts.append(f"{os.path.abspath(path)}\0{state.st_size}\0{state.st_mtime_ns}")  # noqa: PTH100
    return str(sha256("\0".join(parts).encode()).hexdigest())


def _path(kind: str, key: str) -> Path:
    return cache_directory() / f"{kind}-{key[:24]}.json"


def read(kind: str, key: str) -> Any:
    """What was written under the key; None if there is no whole file.

    Args:
        kind: What the data is: the file's name begins with it.
        key: Of ``key_of``.
    """
    return read_with_texts(kind, key)[0]


def read_with_texts(kind: str, key: str) -> tuple[Any, list[bytes]]:
    """As ``read``, and the texts that were written beside the data."""
    try:
        content = _own_file(_path(kind, key))
        checksum, _, rest = content.partition(b"\n")
        if checksum == _checksum(key, rest):
            data, *texts = rest.split(b"\n")
            return json.loads(data), texts
    except (OSError, ValueError, RuntimeError):  # missing, damaged, or no home directory
        pass
    return None, []


def _checksum(key: str, data: bytes) -> bytes:
    return b"%08x" % zlib.crc32(data, zlib.crc32(key.encode()))


def _own_file(path: Path) -> bytes:
    """Content of a regular file of this user that nobody else may write; empty for any other."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        state = os.fstat(descriptor)
        is_own = stat.S_ISREG(state.st_mode) and state.st_uid == os.geteuid() and not state.st_mode & 0o022
        return stream.read() if is_own and state.st_size <= MAX_BYTES else b""


def checked_file(kind: str, path: Path, check: Callable[[MarkedFile], Any], *meaning: str) -> Any:
    """What a data file holds as plain data, checked once and kept.

    Args:
        kind: See ``read``.
        path: The file.
        check: Checks it and makes the data.
        meaning: What else decides, see ``key_of``.
    """
    key = key_of([path], *meaning)
    data = read(kind, key)
    if data is None:
        data = check(load_marked(text_of(path, shown_path(path)), shown_path(path)))
        write(kind, key, data)
    return data


def write(kind: str, key: str, data: Any, texts: Sequence[str] = ()) -> None:
    """Write data, and texts of one line each beside it; a cache that cannot be written is no error."""
    with suppress(OSError, RuntimeError):
        path = _path(kind, key)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        content = "\n".join([json.dumps(data), *texts]).encode()
        with whole_file(path, f"{kind}-") as stream:
            stream.write(_checksum(key, content) + b"\n" + content)
        _remove_old(path.parent)


@contextmanager
def whole_file(path: Path, prefix: str) -> Iterator[IO[bytes]]:
    """A file that gets its name when the block ends without an error: nobody reads half of it, and several may write it."""
    import tempfile  # noqa: PLC0415  (with all that it imports it costs a start more than reading the cache)

    handle, name = tempfile.mkstemp(dir=path.parent, prefix=prefix, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _remove_old(folder: Path) -> None:
    """Of each kind remove all but the newest files, and what a write left behind that never ended.

    Only names that ``write`` gives count, and no link is followed; a process that still reads one has it open.
    """
    found: dict[str, list[tuple[float, str]]] = {}
    with os.scandir(folder) as entries:
        for entry, _ in zip(entries, range(_MOST_LOOKED_AT), strict=False):
            name = _WRITTEN.fullmatch(entry.name)
            if name is not None and entry.is_file(follow_symlinks=False):
                kind = name[1] if name[2] else ""
                found.setdefault(kind, []).append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
    unended = [file for file in found.pop("", []) if file[0] < time.time() - _ABANDONED_S]
    for _, path in (*unended, *(old for files in found.values() for old in sorted(files)[:-KEPT])):
        with suppress(OSError):  # another process may remove it at the same time
            Path(path).unlink()
