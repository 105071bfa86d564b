r"""Dumps of PyTorch's flight recorder: what each rank had issued when a collective timed out.

One file per rank (``nccl_trace_rank_3``, ``_dump_3``), a pickle of plain data or JSON::

    {"version": "2.9",
     "pg_config": {"35": {"name": "35", "desc": "TENSOR_MODEL_PARALLEL_GROUP", "ranks": "[0, 1]"}},
     "pg_status": {"5": {"last_enqueued_collective": 39416, "last_completed_collective": 39406, ..}},
     "entries": [{"pg_id": 5, "process_group": ["35", "TENSOR_MODEL_PARALLEL_GROUP"], "collective_seq_id": 39416,
                  "profiling_name": "nccl:_all_gather_base", "input_sizes": [[4096, 1, 5120]], "state": "scheduled",
                  "retired": false, "is_p2p": false, ..}]}

``pg_status`` counts by the number that the rank itself gave a group (``pg_id``), ``pg_config`` lists by the name
that all ranks share; only an entry ties the two. A rank without entries is tied by its peers (``detect``). Recorders
of gloo leave ``pg_config`` without names; then the members of a group are the ranks whose entries name it.

Losses: ``state`` stays ``scheduled`` in most dumps, so it is kept and never judged; of a stack the ten innermost
frames are kept; NCCL communicator states are not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter, TruncatedSourceError
from analyzer.ingest.encodings import bounded_json
from analyzer.ingest.encodings.plain_pickle import PlainPickleError, loads
from analyzer.ingest.masking import clean_text
from analyzer.ingest.rank_names import MAX_RANK, place_of
from analyzer.lazy_regex import LazyRegex
from analyzer.model.traces import FlightDump, FlightGroup, FlightStatus

MAX_BYTES = 256 << 20
"""A ring of 20,000 entries with Python and C++ stacks takes about 60 MB."""

MAX_ENTRIES = 100_000
MAX_FRAMES = 10
MAX_SIZES = 1_000
"""Tensors of one coalesced collective."""

_LAST_NUMBER = LazyRegex(r"(\d{1,7})(?:\.(?:json|pickle|bin))?(?:\.(?:gz|zst))?$")
_COUNTER = LazyRegex(r"-?\d{1,18}")
_NUMBERS = LazyRegex(r"\d{1,7}")


class FlightRecorder:
    """Reads dumps of the flight recorder, pickled or as JSON."""

    def sniff(self, candidate: Candidate) -> Match:
        """A pickle or a JSON object with the recorder's keys."""
        head = candidate.head
        marks = (b"pg_config", b"pg_status", b"nccl_version", b"collective_seq_id", b"profiling_name")
        seen = sum(mark in head for mark in marks)
        if head[:1] == b"\x80":
            return Match.SURE if seen >= 2 else Match.NO
        is_object = (
            head.lstrip()[:1] == b"{" and b'"traceEvents"' not in head and b"schemaVersion" not in head
        )
        return Match.SURE if is_object and seen >= 2 and b'"entries"' in head else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Read one dump."""
        data, damage = _content(source)
        try:
            dump = loads(data) if data[:1] == b"\x80" else bounded_json.loads(data)
        except (PlainPickleError, ValueError, RecursionError) as error:
            out.gap(f"flight recorder dump cannot be read: {damage or error}")
            return
        if not isinstance(dump, dict):
            out.gap("flight recorder dump holds no table of entries")
            return
        out.framework("torch-distributed")
        out.flight(_dump(dump, source, out))


def _content(source: OpenSource) -> tuple[bytes, str]:
    """At most ``MAX_BYTES``, and what is wrong with the file."""
    parts: list[bytes] = []
    size = 0
    try:
        for chunk in source.chunks():
            parts.append(chunk)
            size += len(chunk)
            if size > MAX_BYTES:
                return b"".join(parts), f"larger than {MAX_BYTES >> 20} MB"
    except TruncatedSourceError as error:
        return b"".join(parts), str(error)
    return b"".join(parts), ""


def _dump(dump: Mapping[str, Any], source: OpenSource, out: SourceWriter) -> FlightDump:
    entries = [entry for entry in _list(dump.get("entries")) if isinstance(entry, dict)]
    if len(entries) > MAX_ENTRIES:
        out.gap(f"only the last {MAX_ENTRIES} collectives are kept", rows_lost=len(entries) - MAX_ENTRIES)
        entries = entries[-MAX_ENTRIES:]
    config = {
        _text(name, 100): group
        for name, group in _dict(dump.get("pg_config")).items()
        if isinstance(group, dict)
    }
    rank = _rank(source.name, config)
    if rank is None:
        out.gap("flight recorder dump of an unknown rank: the name of the file should end with the rank")
    numbers: dict[str, int] = {}
    descriptions: dict[str, str] = {}
    point_to_point: set[str] = set()
    for index, entry in enumerate(entries, start=1):
        name, description = _group_of(entry)
        descriptions.setdefault(name, description)
        number = _integer(entry.get("pg_id"))
        if number is not None:
            numbers.setdefault(name, number)
        if entry.get("is_p2p"):
            point_to_point.add(name)
        out.collective(_row(entry, rank), line=index)
    statuses = _statuses(dump) or _counted(entries)
    by_number = {status.number: status for status in statuses}
    groups = []
    for name in dict.fromkeys([*config, *numbers]):
        group, status = config.get(name, {}), by_number.get(numbers.get(name, -1))
        groups.append(
            FlightGroup(
                name=name,
                description=_text(group.get("desc"), 200) or descriptions.get(name, ""),
                ranks=_members(group.get("ranks")),
                enqueued=status.enqueued if status else None,
                completed=status.completed if status else None,
                point_to_point=name in point_to_point,
            )
        )
    version = _text(dump.get("version"), 20)
    return FlightDump(
        rank, out.source, version, tuple(groups), statuses, tuple(numbers.items()), len(entries)
    )


def _rank(path: str, config: Mapping[str, Any]) -> int | None:
    """The rank in the name of the file, if its groups do not contradict."""
    match = _LAST_NUMBER.search(path)
    rank = int(match[1]) if match else place_of(path).rank
    if rank is None or rank >= MAX_RANK:
        return None
    # Only a local rank or another number would stand outside of every group of the process.
    members = [ranks for group in config.values() if (ranks := _members(group.get("ranks")))]
    return None if members and not any(rank in ranks for ranks in members) else rank


def _members(ranks: object) -> tuple[int, ...]:
    """Global ranks of a group, written as a text (``[0, 2]``) or as a list."""
    if isinstance(ranks, str):
        return tuple(int(number) for number in _NUMBERS.findall(ranks[: 8 * MAX_RANK]))
    return tuple(rank for rank in _list(ranks) if _integer(rank) is not None)


def _statuses(dump: Mapping[str, Any]) -> tuple[FlightStatus, ...]:
    """Counters by number; -1 means that there was no collective yet."""
    found = []
    for number, status in _dict(dump.get("pg_status")).items():
        if not (isinstance(number, int) or str(number).isdigit()) or not isinstance(status, dict):
            continue
        enqueued = _integer(status.get("last_enqueued_collective"))
        completed = _integer(status.get("last_completed_collective"))
        found.append(FlightStatus(int(number), enqueued, completed))
    return tuple(found)


def _counted(entries: list[dict[str, Any]]) -> tuple[FlightStatus, ...]:
    """Counters of a dump without ``pg_status`` (before torch 2.4), from its entries; the ring holds the last ones."""
    enqueued: dict[int, int] = {}
    completed: dict[int, int] = {}
    for entry in entries:
        number, seq = _integer(entry.get("pg_id")), _seq(entry)
        if number is None or seq is None:
            continue
        enqueued[number] = max(enqueued.get(number, -1), seq)
        if entry.get("retired") or entry.get("state") == "completed":
            completed[number] = max(completed.get(number, -1), seq)
    return tuple(FlightStatus(number, last, completed.get(number)) for number, last in enqueued.items())


def _seq(entry: Mapping[str, Any]) -> int | None:
    for key in ("collective_seq_id", "seq_id"):
        value = _integer(entry.get(key))
        if value is not None:
            return value
    return None


def _group_of(entry: Mapping[str, Any]) -> tuple[str, str]:
    group = entry.get("process_group")
    if isinstance(group, list | tuple) and group:
        return _text(group[0], 100), _text(group[1], 200) if len(group) > 1 else ""
    return _text(entry.get("pg_id"), 100), ""


def _row(entry: Mapping[str, Any], rank: int | None) -> dict[str, Any]:
    """One row of the table of collectives."""
    is_p2p = bool(entry.get("is_p2p"))
    group, description = _group_of(entry)
    seq = _integer(entry.get("p2p_seq_id")) if is_p2p else _seq(entry)
    dtypes = [_text(name, 40) for name in _list(entry.get("input_dtypes"))[:MAX_SIZES]]
    name = _text(entry.get("profiling_name"), 100)
    return {
        "rank": rank,
        "pg": group,
        "pg_desc": description,
        "seq": seq,
        "op": name.partition(":")[2] or name,
        "dtype": ",".join(dict.fromkeys(dtypes)).lower()[:200],
        "in_sizes": _sizes(entry.get("input_sizes")),
        "out_sizes": _sizes(entry.get("output_sizes")),
        "state": _text(entry.get("state"), 20),
        "created_ns": _integer(entry.get("time_created_ns")),
        "started_ns": _integer(entry.get("time_discovered_started_ns")),
        "completed_ns": _integer(entry.get("time_discovered_completed_ns")),
        "timeout_ms": _integer(entry.get("timeout_ms")),
        "frames": _frames(entry.get("frames")),
        "extra": '{"is_p2p": true}' if is_p2p else None,
    }


def _sizes(value: object) -> list[list[int]] | None:
    """Sizes of each tensor; of ``[[4096, 8]]`` the same, of ``[4096, 8]`` one tensor."""
    items = _list(value)[:MAX_SIZES]
    if not items:
        return None
    if all(_integer(item) is not None for item in items):
        return [[int(item) for item in items]]
    return [[size for size in _list(item)[:16] if _integer(size) is not None] for item in items]


def _frames(value: object) -> str | None:
    lines = [
        f"{_text(frame.get('filename'), 200)}:{_text(frame.get('line'), 20)} {_text(frame.get('name'), 100)}"
        for frame in _list(value)[:MAX_FRAMES]
        if isinstance(frame, dict)
    ]
    return "\n".join(lines) or None


def _text(value: object, limit: int) -> str:
    """A text or a number in words. Lists are no texts: one that a memo nests in itself would be endless."""
    if isinstance(value, str | int | float):
        return clean_text(str(value)[:limit], limit)
    return ""


def _integer(value: object) -> int | None:
    """A whole number; the counters of the JSON form are texts of digits."""
    if isinstance(value, str) and _COUNTER.fullmatch(value):
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62 else None


def _list(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _dict(value: object) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}
