"""Timing traces of the PyTorch profiler (Kineto) and other chrome traces: ``*.pt.trace.json``, gzipped or not.

``traceEvents`` holds one object an event; ``ts`` and ``dur`` are microseconds. A run keeps one ``TimeTrace`` a file.

How much is read: ``MAX_FILE_BYTES`` of one file and ``MAX_RUN_BYTES`` of all files of a run, decompressed; what lies
beyond is a gap. At about 150 MB per second a directory of profiles thus costs ten seconds at most. Files of other
layouts are read up to ``MAX_SLOW_BYTES``, as they take five times as long.

Losses: marks and counters without a duration, flows, stacks of Python, and the metadata of threads are not kept;
times have a resolution of 1 ns, in compact JSON that of a double.
"""

from __future__ import annotations

import re
from typing import Any

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.formats.timing.kineto_stream import read_columns
from analyzer.ingest.formats.timing.trace_summary import summarise
from analyzer.ingest.rank_names import MAX_RANK, place_of
from analyzer.lazy_regex import LazyRegex

MAX_FILE_BYTES = 1 << 30
"""A trace of 3 million events; profiles of more than some steps are rare because no viewer opens them."""

MAX_RUN_BYTES = 3 << 29
"""1.5 GB: three traces of 500 MB, or 64 ranks with 24 MB each."""

MAX_SLOW_BYTES = 256 << 20

CHUNK_BYTES = 1 << 20

_EVENT = re.compile(rb'"ph"\s*:\s*"[XBEMisfbenCP]"')
_ANY_RANK = LazyRegex(r"(?i)(?<![a-z])rank[-_]?(\d{1,6})(?!\d)")


class Kineto:
    """Reads timing traces."""

    def sniff(self, candidate: Candidate) -> Match:
        """A JSON object with ``traceEvents``, or a list of objects with a phase."""
        head = candidate.head.lstrip(b"\xef\xbb\xbf \t\r\n")
        if (
            b"}\n{" in head
        ):  # JSON lines, which may quote anything; between the objects of a trace stand commas
            return Match.NO
        if head[:1] == b"{" and (
            b'"traceEvents"' in head or (b'"deviceProperties"' in head and b'"schemaVersion"' in head)
        ):
            return Match.SURE
        is_list = head[:1] == b"[" and _EVENT.search(head[:4096]) is not None
        return Match.SURE if is_list else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Read one trace, as far as the limits allow."""
        spent = out.spend_trace_bytes(0)
        limit = min(MAX_FILE_BYTES, MAX_RUN_BYTES - spent)
        if limit <= 0:
            out.gap(
                f"timing trace not read: others of this run take {MAX_RUN_BYTES >> 20} MB already; give it by itself"
            )
            return
        columns, progress = read_columns(source.chunks(CHUNK_BYTES), limit, MAX_SLOW_BYTES)
        out.spend_trace_bytes(progress.size_bytes)
        if progress.damage:
            out.gap(f"timing trace: {progress.damage}; {len(columns)} events before that are used")
        if progress.skipped:
            out.gap("timing trace: elements that are no events", rows_lost=progress.skipped)
        if not len(columns):
            out.gap("timing trace without a single event that has a duration")
            return
        out.framework("torch-profiler")
        _layout(progress.header, out)
        rank = _rank(progress.header, source.name)
        out.timing(summarise(columns, out.source, rank, complete=progress.complete))


def _layout(header: dict[str, Any], out: SourceWriter) -> None:
    """Number of ranks and name of the device."""
    info, devices = header.get("distributedInfo"), header.get("deviceProperties")
    world_size = info.get("world_size") if isinstance(info, dict) else None
    names = (
        [device.get("name") for device in devices if isinstance(device, dict)]
        if isinstance(devices, list)
        else []
    )
    out.layout(
        world_size=world_size if isinstance(world_size, int) and 0 < world_size < MAX_RANK else None,
        gpu_name=names[0] if names and isinstance(names[0], str) else None,
    )


def _rank(header: dict[str, Any], path: str) -> int | None:
    """The rank of the header, else of the file's name."""
    info = header.get("distributedInfo")
    rank = info.get("rank") if isinstance(info, dict) else None
    if isinstance(rank, int) and not isinstance(rank, bool) and 0 <= rank < MAX_RANK:
        return rank
    match = _ANY_RANK.search(path.rpartition("/")[2])
    return int(match[1]) if match else place_of(path).rank
