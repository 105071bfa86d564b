"""Which rank, node and attempt wrote a file, told from its path alone.

    logs/rank_3.log                                rank 3
    nemo_log_globalrank-5_localrank-1.txt          rank 5, local rank 1
    none_ab12/attempt_0/3/stderr.log               attempt 0, local rank 3 (torchrun)
    node-a/worker-2.out                            host node-a, task 2
    train.123456.7.out                             task 7 of job 123456

A local rank or a task is a global rank only if the other files say so: ``ranks_of`` looks at all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from analyzer.lazy_regex import LazyRegex
from analyzer.record import NamedTuple

MAX_RANK = 1 << 20
"""Larger numbers are job ids or time stamps; the largest run so far had some 100,000 GPUs."""

# What stands before "rank" changes its meaning: LoRA's rank is a size, tp_rank counts within a group.
_RANK = LazyRegex(
    r"(?i)(?<![a-z])(?P<word>(?:[a-z0-9]{1,20}[_-]){0,3})(?:global)?rank[-_=.]{0,2}(?P<rank>\d{1,7})(?!\d)"
)
_FOREIGN_RANK = LazyRegex(r"(?i)(?:^|[_-])(?:lora|low|matrix|tensor|full|[tpdcem]p|ep|sp|world|group)[_-]$")
_LOCAL = LazyRegex(
    r"(?i)(?:(?<![a-z])local[-_]?rank|(?<![a-z])(?:gpu|cuda|device))[-_=.]{0,2}(?P<rank>\d{1,3})(?!\d)"
)
_NODE = LazyRegex(
    r"(?i)(?<![a-z])(?:node|machine)(?:[-_]?(?:rank|id|idx))?[-_=.]{0,2}(?P<node>\d{1,6})(?![\d.])"
)
_TASK = LazyRegex(
    r"(?i)(?<![a-z])(?:task|worker|process|proc|procid|taskid)[-_=.]{0,2}(?P<task>\d{1,6})(?![\da-f]*[a-f-])(?!\d)"
)
# Slurm's %j and %t, joined by a dot or a dash; "_7" behind a job id is an array index, that is another run.
_JOB_TASK = LazyRegex(r"(?<!\d)\d{4,12}[.-](?P<task>\d{1,6})(?=\.\D|$)")
_ELASTIC = LazyRegex(
    r"(?:^|/)attempt_(?P<attempt>\d{1,6})/(?P<local>\d{1,4})/(?:stdout\.log|stderr\.log|error\.json)$"
)
_ATTEMPT = LazyRegex(r"(?i)(?:^|[/_.-])(?:attempt|retry|restart|run)[-_](?P<attempt>\d{1,6})(?=[/_.-]|$)")
_HOST = LazyRegex(
    r"(?i)^(?:[a-z0-9]{1,20}-){0,3}(?:node|host|hostname|dgx|hgx|nid|ip|compute|gpunode|cn)[-_]?(?=[\w.-]*[a-z\d])[\w.-]{1,60}$"
)
_NOT_HOST = LazyRegex(
    r"(?i)^(?:node|host)s?$|^(?:node|host)[-_]?(?:logs?|rank|out|err|list|file)s?\b|\.(?:log|txt|out|err|json)$"
)
_ARCHIVE = LazyRegex(r"\.(?:gz|zst)$")


class FilePlace(NamedTuple):
    """What a path says about its writer; None and empty where it says nothing."""

    rank: int | None = None  # global rank
    local_rank: int | None = None  # rank within its node
    node: int | None = None  # number of the node
    task: int | None = None  # number of a process that may or may not be the global rank
    attempt: int | None = None  # number of the launch attempt
    host: str = ""  # host name


def names_part(directory: str) -> bool:
    """Whether a directory is named after a rank, a task or a node, and so holds a part of a run."""
    place = place_of(f"{directory}/log")
    return place != FilePlace(attempt=place.attempt)


def place_of(path: str) -> FilePlace:
    """What one path says.

    >>> place_of("nemo_log_globalrank-5_localrank-1.txt")
    FilePlace(rank=5, local_rank=1, node=None, task=None, attempt=None, host='')
    >>> place_of("logs/none_ab12/attempt_1/3/stderr.log").local_rank, place_of("log.rank7").rank
    (3, 7)
    >>> place_of("node-a/train.123456.7.out")
    FilePlace(rank=None, local_rank=None, node=None, task=7, attempt=None, host='node-a')
    >>> place_of("lora_rank_8.log").rank, place_of("slurm-123456_7.out").task, place_of("tp_rank_1.log").rank
    (None, None, None)
    """
    path = _ARCHIVE.sub("", path[-1024:])
    if not any(character.isdecimal() for character in path):
        return FilePlace(host=_host(path))  # every other word has a number behind it
    elastic = _ELASTIC.search(path)
    attempt = elastic or _last(_ATTEMPT, path)
    return FilePlace(
        rank=_global_rank(path),
        local_rank=int(elastic["local"]) if elastic else _number(_last(_LOCAL, path)),
        node=_number(_last(_NODE, path)),
        task=None if elastic else _number(_last(_TASK, path) or _last(_JOB_TASK, path)),
        attempt=int(attempt["attempt"]) if attempt else None,
        host=_host(path),
    )


def _last(pattern: LazyRegex, path: str) -> re.Match[str] | None:
    """The match nearest to the file's name: what stands there is more particular than a directory."""
    found = list(pattern.finditer(path))
    return found[-1] if found else None


def _number(match: re.Match[str] | None) -> int | None:
    if match is None:
        return None
    number = int(match[match.lastgroup or 0])
    return number if number < MAX_RANK else None


def _global_rank(path: str) -> int | None:
    found = None
    for match in _RANK.finditer(path):
        word = match["word"].lower()
        if _FOREIGN_RANK.search(word) or word.endswith(("local_", "local-", "node_", "node-")):
            continue
        number = int(match["rank"])
        found = number if number < MAX_RANK else found
    return found


def _host(path: str) -> str:
    """The last directory, or the first part of the file's name, that is written like a host name."""
    parts = path.split("/")
    for part in reversed(parts[:-1]):
        if _HOST.match(part) and not _NOT_HOST.search(part):
            return part
    return ""


def ranks_of(paths: Iterable[str]) -> Mapping[str, int]:
    """Global rank of each file that has one for certain, judged from all files of a run together.

    A number that names two files on different nodes is a local one. The local ranks of torchrun are global
    if all files come from one launch. Task numbers count as ranks if the tasks are 0 to N-1 without a gap.

    >>> dict(ranks_of(["a/job.4711.0.out", "a/job.4711.1.out"]))
    {'a/job.4711.0.out': 0, 'a/job.4711.1.out': 1}
    >>> dict(ranks_of(["job.4711.3.out"])), dict(ranks_of(["node0/rank_0.log", "node1/rank_0.log"]))
    ({}, {})
    >>> dict(ranks_of(["x/attempt_0/0/stderr.log", "x/attempt_0/1/stderr.log"]))
    {'x/attempt_0/0/stderr.log': 0, 'x/attempt_0/1/stderr.log': 1}
    """
    places = {path: place_of(path) for path in paths}
    named = {path: place.rank for path, place in places.items() if place.rank is not None}
    # The same rank in files that differ only in their node, or in their host's directory, is a local rank.
    nodes: dict[int, set[tuple[int | None, str]]] = {}
    for path, rank in named.items():
        nodes.setdefault(rank, set()).add((places[path].node, places[path].host))
    if any(len(where) > 1 for where in nodes.values()):
        named = {}
    return {**_tasks(places), **_elastic(places), **named}


def _elastic(places: Mapping[str, FilePlace]) -> dict[str, int]:
    local = {path: int(match["local"]) for path in places if (match := _ELASTIC.search(path))}
    launches = {path[: path.rindex("attempt_")] for path in local}
    return local if len(launches) == 1 else {}


def _tasks(places: Mapping[str, FilePlace]) -> dict[str, int]:
    tasks = {path: place.task for path, place in places.items() if place.task is not None}
    families: dict[str, dict[str, int]] = {}
    for path, task in tasks.items():
        head, _, tail = _ARCHIVE.sub("", path).rpartition(str(task))
        families.setdefault(f"{head}*{tail}", {})[path] = task
    found: dict[str, int] = {}
    for family in families.values():
        numbers = set(family.values())
        if len(numbers) > 1 and numbers == set(range(len(numbers))):
            found.update(family)
    return found
