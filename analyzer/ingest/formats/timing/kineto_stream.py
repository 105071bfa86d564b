"""Stream a timing trace, however large: header, then blocks of whole events, then what follows them.

Two readers take turns. Blocks in PyTorch's line layout go to ``kineto_lines``; everything else (compact JSON, other
writers, events that begin and end apart) is parsed event by event. Either works within a window of the file.
"""

from __future__ import annotations

import codecs
import gc
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from analyzer.ingest.base import TruncatedSourceError
from analyzer.ingest.formats.timing.kineto_lines import (
    NONE,
    SEPARATOR,
    ColumnWriter,
    TraceColumns,
    read_block,
)
from analyzer.ingest.scalar_text import json_object
from analyzer.record import dataclass, field

BLOCK_BYTES = 4 << 20
"""A window that fits the cache of a core together with its columns."""

MAX_HEADER_BYTES = 32 << 20
"""Process groups of a run with 10,000 ranks take 20 MB."""

MAX_EVENT_BYTES = 16 << 20
"""One event; those with stacks and shapes take a few kB."""

_OPENING = re.compile(rb'"traceEvents"\s*:\s*\[')
_BEGINS = re.compile(r"[\s,]*")


@dataclass
class Progress:
    """What a reading came to."""

    # object before the events; empty if it could not be parsed
    header: dict[str, Any] = field(default_factory=dict)
    size_bytes: int = 0  # bytes read, decompressed
    complete: bool = False  # whether the list of events was read to its end
    damage: str = ""  # why it was not
    slow_events: int = 0  # events that the slower reader parsed
    skipped: int = 0  # elements of the list that are no events


class _Window:
    """The part of a file that is not consumed yet."""

    def __init__(self, chunks: Iterator[bytes], limit_bytes: int, progress: Progress) -> None:
        self.data = b""
        self.ended = False
        self._chunks = chunks
        self.limit_bytes = limit_bytes
        self._progress = progress

    def more(self) -> bool:
        """Append the next block; False at the end of the file or of what may be read."""
        if self.ended:
            return False
        try:
            chunk = next(self._chunks, b"")
        except TruncatedSourceError as error:
            chunk, self._progress.damage = b"", str(error)
        self._progress.size_bytes += len(chunk)
        if self._progress.size_bytes > self.limit_bytes:
            chunk, self._progress.damage = (
                b"",
                f"only the first {self.limit_bytes >> 20} MB of events are read",
            )
        if not chunk:
            self.ended = True
            return False
        self.data += chunk
        return True

    def fill(self) -> None:
        """Read on until a block is at hand."""
        parts, size = [self.data], len(self.data)
        self.data = b""
        while size < BLOCK_BYTES and self.more():
            parts.append(self.data)
            size += len(self.data)
            self.data = b""
        self.data = b"".join(parts)


def read_columns(
    chunks: Iterator[bytes], limit_bytes: int, slow_limit_bytes: int
) -> tuple[TraceColumns, Progress]:
    """Read the events of a trace.

    Args:
        chunks: Blocks of the decompressed file.
        limit_bytes: Bytes after which reading stops.
        slow_limit_bytes: The same for what only the slower reader can parse.

    Returns:
        The events that have a duration, and what became of the rest.
    """
    progress = Progress()
    out = ColumnWriter()
    window = _Window(chunks, limit_bytes, progress)
    with _collector_paused():
        if _skip_header(window, progress):
            _fast(window, out, progress)
            window.limit_bytes = min(limit_bytes, progress.size_bytes + slow_limit_bytes)
            _slow(window, out, progress)
        else:
            progress.damage = progress.damage or "no list of events was found"
    return out.finish(), progress


@contextmanager
def _collector_paused() -> Iterator[None]:
    """A million new objects make the garbage collector search in vain; it costs half of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _skip_header(window: _Window, progress: Progress) -> bool:
    """Move to the first event."""
    while True:
        if window.data.lstrip()[:1] == b"[":  # a bare list of events
            window.data = window.data.lstrip()[1:]
            return True
        match = _OPENING.search(window.data)
        if match:
            progress.header = json_object(window.data[: match.end()] + b"]}") or {}
            window.data = window.data[match.end() :]
            return True
        if len(window.data) > MAX_HEADER_BYTES or not window.more():
            return False


def _fast(window: _Window, out: ColumnWriter, progress: Progress) -> None:
    """Read blocks of the line layout, as long as there are any."""
    window.fill()
    first = window.data.lstrip(b" \r\n")
    if first.startswith(b"{\n"):  # newer exporters leave a blank line after the opening bracket
        window.data = b"  " + first
    while window.data.startswith(b"  {\n"):
        cut = window.data.rfind(SEPARATOR)
        if cut < 0:
            if len(window.data) > MAX_EVENT_BYTES or not window.more():
                return
            continue
        block = window.data[: cut + len(SEPARATOR) - 2]  # without the comma and its line feed
        rest = window.data[cut + len(SEPARATOR) :]
        if read_block(block, out) is None:
            _parse_block(block, out, progress)
        window.data = rest
        window.fill()


def _parse_block(block: bytes, out: ColumnWriter, progress: Progress) -> None:
    rows = _Rows(out, progress)
    try:
        events = json.loads(b"[" + block + b"]")
    except (ValueError, RecursionError):
        progress.skipped += block.count(b'"ph"')
        return
    for event in events:
        rows.take(event)
    rows.flush()


def _slow(window: _Window, out: ColumnWriter, progress: Progress) -> None:
    """Parse event by event until the list closes."""
    decoder = json.JSONDecoder()
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    rows = _Rows(out, progress)
    text, at = decode(window.data), 0
    window.data = b""
    while True:
        at = _BEGINS.match(text, at).end()  # type: ignore[union-attr]
        if text[at : at + 1] == "]":
            progress.complete = True
            break
        try:
            event, at = decoder.raw_decode(text, at)
        except RecursionError:
            progress.damage = progress.damage or "an event is nested too deeply"
            break
        except ValueError:
            # Cut off by the window, or broken: more text tells.
            if len(text) - at > MAX_EVENT_BYTES or not window.more():
                progress.damage = progress.damage or (
                    "the file ends in the middle of the list of events"
                    if window.ended
                    else "the JSON is broken there"
                )
                break
            text, at, window.data = text[at:] + decode(window.data), 0, b""
            continue
        rows.take(event)
        if at > BLOCK_BYTES:
            text, at = text[at:], 0
    rows.flush()


class _Rows:
    """Parsed events on their way into columns; events that begin and end apart are paired."""

    _FLUSH = 20_000

    def __init__(self, out: ColumnWriter, progress: Progress) -> None:
        self._out = out
        self._progress = progress
        self._rows: list[tuple[int, ...]] = []
        self._open: dict[tuple[Any, Any], list[dict[str, Any]]] = {}

    def take(self, event: object) -> None:
        """Use one element of the list of events."""
        self._progress.slow_events += 1
        if not isinstance(event, dict):
            self._progress.skipped += 1
            return
        phase = event.get("ph")
        if phase == "X":
            self._append(event, event.get("dur", 0))
        elif phase in {"B", "E"}:
            self._pair(event, begins=phase == "B")

    def _pair(self, event: dict[str, Any], *, begins: bool) -> None:
        thread = (str(event.get("pid"))[:40], str(event.get("tid"))[:40])
        open_ = self._open.setdefault(thread, [])
        if begins:
            open_.append(event)
            return
        if open_ and event.get("name", open_[-1].get("name")) == open_[-1].get("name"):
            first = open_.pop()
            if _is_time(first.get("ts")) and _is_time(event.get("ts")):
                self._append(first, event["ts"] - first["ts"])

    def _append(self, event: dict[str, Any], duration: object) -> None:
        start, name, category = event.get("ts"), event.get("name", ""), event.get("cat", "")
        if not _is_time(start) or not _is_time(duration):
            self._progress.skipped += 1
            return
        found = event.get("args")
        args = found if isinstance(found, dict) else {}
        self._rows.append(
            (
                round(float(start) * 1000) if isinstance(start, float) else int(start) * 1000,  # type: ignore[arg-type]
                round(float(duration) * 1000),  # type: ignore[arg-type]
                self._out.name_code(name if isinstance(name, str) else ""),
                self._out.category_code(category if isinstance(category, str) else ""),
                _whole(event.get("pid")),
                _whole(event.get("tid")),
                _whole(args.get("stream")),
                _whole(args.get("correlation")),
                _whole(args.get("External id", args.get("external id"))),
                _whole(args.get("Record function id")),
            )
        )
        if len(self._rows) >= self._FLUSH:
            self.flush()

    def flush(self) -> None:
        """Hand the rows over."""
        if not self._rows:
            return
        names = (
            "start_ns",
            "duration_ns",
            "name",
            "category",
            "process",
            "thread",
            "stream",
            "correlation",
            "external",
            "record",
        )
        self._out.add(
            **{name: list(column) for name, column in zip(names, zip(*self._rows, strict=True), strict=True)}
        )
        self._rows = []


def _is_time(value: object) -> bool:
    """A number of microseconds that fits the columns as ns."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15 * 9


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62 else NONE
