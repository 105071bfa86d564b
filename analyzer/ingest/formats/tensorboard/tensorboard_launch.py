"""Which launch of a job wrote an event file: time, host and process in its name.

``events.out.tfevents.<unix time>.<host>.<pid>.<n>[.v2]`` is what torch, tensorboardX and TensorFlow 2 write,
``n`` counting the writers of one process; TensorFlow 1 ends after the host. A writer in a sub-directory
(torch ``add_scalars`` and ``add_hparams``, Keras ``validation/``) belongs to the launch of the first one, and a
restarted container may have the host name and process number of the one before it. So the label of a launch
holds the time of its first writer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from analyzer.ingest.base import Candidate
from analyzer.lazy_regex import LazyRegex
from analyzer.record import NamedTuple

_NAME = LazyRegex(r"tfevents\.(?P<time>\d{1,12})\.(?P<rest>[^/]{1,300})$")
_PROCESS = LazyRegex(r"(?P<host>.{1,255})\.(?P<pid>\d{1,9})\.(?P<n>\d{1,6})(?:\.[A-Za-z][\w-]{0,40})?$")

_HELD_OUT = LazyRegex(
    r"(?i)^(?P<stem>.{0,200}?)(?:^|(?<=[_.-]))(?P<word>val|valid|validation|eval|evaluation|test|dev)$"
)

_MAX_ENTRIES = 5_000
"""Directory entries looked at for the first writer of a launch; ``add_scalars`` makes one for every curve."""


def is_held_out(candidate: Candidate) -> bool:
    """Whether a file holds results on held-out data because of the directory in which it stands.

    Keras writes ``train/`` and ``validation/``, torch's ``add_scalars`` ``Loss_train/`` and ``Loss_val/``, with equal
    tags; an Estimator writes ``eval/`` below its own file. A directory that has no such sibling is the name of a run.
    """
    folder = candidate.path.parent
    match = _HELD_OUT.match(folder.name)
    if match is None:
        return False
    siblings = {f"{match['stem']}{word}".lower() for word in ("train", "training", "trn")}
    below = not match["stem"] and match["word"].lower() != "test"
    try:
        with os.scandir(folder.parent) as entries:
            for entry, _ in zip(entries, range(_MAX_ENTRIES), strict=False):
                if entry.name.lower() in siblings or (below and "tfevents" in entry.name):
                    return True
    except OSError:
        return False
    return False


class WriterName(NamedTuple):
    """What the name of an event file says."""

    time_s: float  # Unix seconds at which the writer was made
    host: str  # host name
    process: str  # process number; empty if the name has none
    is_first: bool  # whether it was the first writer of its process; False if the name cannot say


def parse_name(name: str) -> WriterName | None:
    """Read the name of an event file; None if it is of another making.

    >>> parse_name("runs/x/events.out.tfevents.1700000000.node.example.org.4242.0")
    WriterName(time_s=1700000000.0, host='node.example.org', process='4242', is_first=True)
    >>> parse_name("000000000000_worker_0.tfevents") is None
    True
    """
    match = _NAME.search(name)
    if match is None:
        return None
    time_s, rest = float(match["time"]), match["rest"]
    process = _PROCESS.match(rest)
    if process is None:
        return WriterName(time_s, rest.removesuffix(".v2"), "", False)
    return WriterName(time_s, process["host"], process["pid"], int(process["n"]) == 0)


def launch_label(candidate: Candidate, writer: WriterName) -> str:
    """Label of the launch that an event file belongs to, equal for all files of that launch."""
    start_s = writer.time_s if writer.is_first else _first_writer_time(candidate, writer)
    process = f" pid {writer.process}" if writer.process else ""
    if start_s is None:
        return f"{writer.host}{process}"
    try:
        start = datetime.fromtimestamp(start_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        start = str(int(start_s))
    return f"{writer.host}{process} {start}"


def _first_writer_time(candidate: Candidate, writer: WriterName) -> float | None:
    """Time of the latest first writer of the same process that is not younger, in the places where it can be.

    A name without a process number tells launches apart by time only; there the main file of the directory
    above is taken, and the file itself if there is none.
    """
    for names in _likely_directories(candidate, own=bool(writer.process)):
        others = (parse_name(name) for name in names)
        times = [
            other.time_s
            for other in others
            if other is not None
            and (other.host, other.process) == (writer.host, writer.process)
            and other.is_first == bool(writer.process)
            and other.time_s <= writer.time_s
        ]
        if times:
            return max(times)
    return None if writer.process else writer.time_s


def _likely_directories(candidate: Candidate, *, own: bool) -> Iterator[list[str]]:
    """Names of the files in the file's directory, then in those above it within the run, then beside it."""
    depth = candidate.name.count("/")
    directory = candidate.path.parent
    if own:
        yield _names(directory)[0]
    if depth == 0:
        return
    beside: list[str] = []
    for level, above in enumerate(directory.parents):
        if level == depth:
            break
        names, directories = _names(above)
        if level == 0:
            beside = directories
        yield names
    for name in beside[:20]:
        yield _names(directory.parent / name)[0]


def _names(directory: Path) -> tuple[list[str], list[str]]:
    """Names of event files and of sub-directories; none if the directory cannot be listed."""
    files: list[str] = []
    directories: list[str] = []
    try:
        with os.scandir(directory) as entries:
            for count, entry in enumerate(entries):
                if count >= _MAX_ENTRIES:
                    break
                if "tfevents" in entry.name:
                    files.append(entry.name)
                elif entry.is_dir(follow_symlinks=False):
                    directories.append(entry.name)
    except OSError:
        return [], []
    return files, sorted(directories)
