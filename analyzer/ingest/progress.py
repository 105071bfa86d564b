"""How far the reading of a run is, for whoever watches. Costs nothing where nobody does.

A watcher sets ``WATCHED.now`` to a ``Reading`` and looks at it from another thread. How far a large file is read is
asked of the operating system (the offset of the descriptor), so that no reader has to count.
"""

from __future__ import annotations

import os
from typing import Any

from analyzer.record import dataclass, field


@dataclass
class Reading:
    """State of one reading."""

    looked_at: int = 0  # files that the walk has seen
    files: int = 0  # files to read; 0 while the walk is on
    size_bytes: int = 0  # their bytes on disk
    files_read: int = 0  # files that are read
    bytes_read: int = 0  # their bytes
    name: str = ""  # the file at hand
    descriptor: int = field(default=-1)  # its descriptor, -1 if there is none
    judging: bool = False  # whether everything is read and the rules are at work

    def position(self) -> int:
        """Bytes read so far, the file at hand included as far as the system knows."""
        if self.descriptor < 0:
            return self.bytes_read
        try:
            return self.bytes_read + os.lseek(self.descriptor, 0, os.SEEK_CUR)
        except OSError:  # closed meanwhile, or a pipe
            return self.bytes_read


class _Watched:
    """Holds what is watched now; None where nobody watches."""

    now: Reading | None = None


WATCHED = _Watched()


def saw_file() -> None:
    """The walk looks at one more file."""
    if WATCHED.now is not None:
        WATCHED.now.looked_at += 1


def begin(files: int, size_bytes: int) -> None:
    """The walk is over and so much is to be read."""
    if WATCHED.now is not None:
        WATCHED.now.files, WATCHED.now.size_bytes = files, size_bytes


def begin_file(name: str, stream: Any) -> None:
    """A file is opened for reading."""
    if WATCHED.now is None or not WATCHED.now.files:  # heads that the walk reads are not counted
        return
    WATCHED.now.name = name
    try:
        WATCHED.now.descriptor = stream.fileno()
    except (AttributeError, OSError, ValueError):  # a decompressor that hides its file
        WATCHED.now.descriptor = -1


def end_file(size_bytes: int) -> None:
    """A file is read."""
    if WATCHED.now is not None:
        WATCHED.now.descriptor = -1
        WATCHED.now.files_read += 1
        WATCHED.now.bytes_read += size_bytes


def end() -> None:
    """Everything is read."""
    if WATCHED.now is not None:
        WATCHED.now.judging = True
