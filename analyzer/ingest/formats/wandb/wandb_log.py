"""The transaction log of a Weights & Biases run (``run-<id>.wandb``): everything that a run told W&B.

A record is a protocol buffer message, ``wandb_internal.Record``, whose one filled field says what it is. With
its field numbers, which have not changed since 2020::

    2 history   3 summary   5 config   7 stats   13 output_raw   17 run   18 exit   26 environment   …

A run that was killed has no exit record, and its file ends at the edge of a block, often within a record.
Not for the files beside it: see ``wandb_files``. The framing is in ``wandb_framing``.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.encodings.protobuf_wire import WireError, fields, varint
from analyzer.ingest.formats.wandb.wandb_columns import ItemColumns
from analyzer.ingest.formats.wandb.wandb_framing import MAGIC, FrameReader, note_losses
from analyzer.ingest.formats.wandb.wandb_history import (
    last_values,
    write_history,
    write_last_values,
    write_system,
)
from analyzer.ingest.formats.wandb.wandb_items import launch_label, timestamp
from analyzer.ingest.formats.wandb.wandb_records import Launch
from analyzer.ingest.names import canonical_metric
from analyzer.ingest.points import Points
from analyzer.ingest.text.text_layer import MAX_RECORD_BYTES
from analyzer.lazy_regex import LazyRegex
from analyzer.record import dataclass, field

# The console that a ``.wandb`` file keeps in pieces, as lines.
#
# A piece is whatever one call of ``write`` gave, so ``print("step", 1)`` becomes four records::
#
#     {type: stdout, line: "step"}  {type: stdout, line: " "}  {type: stdout, line: "1"}  {type: stdout, line: "\n"}
#
# and a progress bar's pieces ("\r 10%|#   |") lie between them. Not for the meaning of a line: see ``text_log``.
OUTPUT, OUTPUT_RAW, OUTPUT_LOGGER = 4, 13, 27
"""Record types: console behind a terminal emulation (old), as written, and lines that a program hands over."""

_STDERR, _STDOUT, _LOGGER_STREAM = 0, 1, 2  # the first two as in the schema
_LINE_END = LazyRegex(r"[\r\n]")

Line = tuple[int, str, float | None]


@dataclass(slots=True)
class _Pending:
    """The beginning of a line whose end has not been read yet."""

    record: int
    time_s: float | None
    parts: list[str] = field(default_factory=list)
    size: int = 0


def read_piece(kind: int, payload: memoryview) -> tuple[int, str, float | None]:
    """Stream, text and unix seconds of one console record.

    Raises:
        WireError: The record is damaged.
    """
    stream, text, time_s = (_LOGGER_STREAM if kind == OUTPUT_LOGGER else _STDERR), "", None
    for number, _, part in fields(payload):
        if isinstance(part, int):
            stream = _STDOUT if number == 1 and part else stream
        elif number == 2:
            time_s = timestamp(part)
        elif number == 3 or (number == 1 and kind == OUTPUT_LOGGER):
            text = str(part, "utf-8", "replace")
    return stream, text, time_s


def console_lines(
    pieces: Iterable[tuple[int, int, memoryview]], on_damage: Callable[[int], None]
) -> Iterator[Line]:
    """Put console records together.

    Each state of a progress bar is a line of its own; blank lines are left out.

    Args:
        pieces: Record number, record type and bytes of each console record.
        on_damage: Called with the number of a record that cannot be decoded.

    Yields:
        Record number and time of a line's beginning, and its text without its end.
    """
    streams: dict[int, _Pending] = {}
    for number, kind, payload in pieces:
        try:
            stream, text, time_s = read_piece(kind, payload)
        except WireError:
            on_damage(number)
            continue
        pending = streams.pop(stream, None) or _Pending(number, time_s)
        *ended, rest = _LINE_END.split(text)
        for piece in ended:
            pending.parts.append(piece)
            yield from _line(pending)
            pending = _Pending(number, time_s)
        pending.parts.append(rest)
        pending.size += len(rest)
        if pending.size > MAX_RECORD_BYTES:
            yield from _line(pending)
        elif pending.size:
            streams[stream] = pending
    for pending in streams.values():
        yield from _line(pending)


def _line(pending: _Pending) -> Iterator[Line]:
    text = "".join(pending.parts)
    if text.strip():
        yield pending.record, text, pending.time_s


_HISTORY, _SUMMARY, _STATS = 2, 3, 7
_ITEM, _STATS_ITEM = 1, 3  # field numbers of the items within those records
_CONSOLE = frozenset({OUTPUT, OUTPUT_RAW, OUTPUT_LOGGER})
_CONTROL = frozenset({1, 16, 19, 200})  # fields beside the one that says what a record is
_LONG = 14  # bytes of the longest count and of a key and its length; a history with a number has more
_COUNT_KEY, _HISTORY_KEY, _SUMMARY_KEY = 0x08, 0x12, 0x1A  # first bytes of those fields


class WandbLog:
    """Reads a ``.wandb`` file."""

    def sniff(self, candidate: Candidate) -> Match:
        """By the magic bytes; by name if they are damaged."""
        if candidate.head.startswith(MAGIC):
            return Match.SURE
        return Match.LIKELY if candidate.name.endswith(".wandb") else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Read every intact record, then the console as the text log's reader reads one."""
        if not source.candidate.head.startswith(MAGIC):
            out.gap("the file does not begin as a .wandb file does; records are looked for all the same")
        reader = _LogReader(source, out)
        reader.read()
        reader.write()


class _LogReader:
    def __init__(self, source: OpenSource, out: SourceWriter) -> None:
        self._source = source
        self._out = out
        self._launch = Launch()
        self._history = ItemColumns(_ITEM)
        self._summary = ItemColumns(_ITEM)
        self._system = ItemColumns(_STATS_ITEM)
        self._system_times = array("d")
        self._console_kinds: set[int] = set()
        self._last_piece: tuple[int, memoryview] | None = None
        self._records = 0

    def read(self) -> None:
        """Pass over all records and sort them."""
        frames = FrameReader(self._source.chunks())
        damaged = 0
        history = self._history
        has_history = False
        for number, record in enumerate(frames, 1):
            try:
                kind, payload = record_body(record, skip_summary=has_history)
                if kind == _HISTORY:
                    history.add(number, payload)
                    has_history = True
                elif kind:
                    self._take(kind, number, payload)
            except (WireError, IndexError):
                damaged += 1
        self._records = frames.count
        if damaged:
            self._out.gap("records whose checksum is right but whose contents are not", rows_lost=damaged)
        note_losses(frames, self._out)

    def _take(self, kind: int, number: int, payload: memoryview) -> None:
        if kind == _SUMMARY:
            self._summary.add(number, payload)
        elif kind == _STATS:
            self._take_system(number, payload)
        elif kind in _CONSOLE:
            self._console_kinds.add(kind)
            self._last_piece = (kind, payload)
        else:
            self._launch.take(kind, number, payload, self._out)

    def _take_system(self, number: int, payload: memoryview) -> None:
        """Cut the record behind its time, so that only items are left for ``ItemColumns``."""
        time_s = float("nan")
        start = 0
        while start < len(payload) and payload[start] != _STATS_ITEM << 3 | 2:
            key, at = varint(payload, start)
            size, at = varint(payload, at)
            if key == 2 << 3 | 2:
                time_s = timestamp(payload[at : at + size])
            start = at + size if key & 7 == 2 else at
        self._system.add(number, payload[start:])
        self._system_times.append(time_s)

    def write(self) -> None:
        """Hand over what was read."""
        names, history_end_s = write_history(self._history, self._out)
        if not len(self._history):
            write_last_values(last_values(self._summary), self._out)
        write_system(self._system, self._system_times, self._out)
        self._launch.write(self._out)
        self._read_console(names)
        self._write_end(history_end_s)

    def _read_console(self, names: Collection[str]) -> None:
        if not self._console_kinds:
            return
        from analyzer.ingest.text.text_log import read_lines  # noqa: PLC0415  (compiles the patterns of all log lines)

        # Very old clients recorded the console twice: as written, and behind a terminal emulation.
        kinds = self._console_kinds - {OUTPUT} if OUTPUT_RAW in self._console_kinds else self._console_kinds
        known = frozenset(canonical_metric(name) for name in names)
        lines = console_lines(
            self._pieces(kinds), lambda number: self._out.gap("console record cannot be decoded", line=number)
        )
        read_lines(lines, ConsoleWriter(self._out, known))

    def _pieces(self, kinds: Collection[int]) -> Iterator[tuple[int, int, memoryview]]:
        """The console's records, read in a second pass: they may be larger than memory."""
        for number, record in enumerate(FrameReader(self._source.chunks()), 1):
            try:
                kind, payload = record_body(record, skip_summary=True)
            except (WireError, IndexError):
                continue  # counted in the first pass
            if kind in kinds:
                yield number, kind, payload

    def _console_end_s(self) -> float:
        try:
            return read_piece(*self._last_piece)[2] or math.nan if self._last_piece else math.nan
        except WireError:
            return math.nan

    def _write_end(self, history_end_s: float | None) -> None:
        launch, out = self._launch, self._out
        times = [history_end_s or math.nan, *self._system_times[-1:], self._console_end_s()]
        end_s = max((time_s for time_s in times if not math.isnan(time_s)), default=None)
        if launch.has_ended and launch.start_s is not None and launch.runtime_s:
            end_s = launch.start_s + launch.runtime_s
        if not launch.has_ended:
            text = "no exit record: the run was killed or is still running"
            out.event(
                "tracker_no_exit_record",
                text,
                role="info",
                line=self._records or None,
                time_s=end_s,
                fields={"tracker": "W&B"},
            )
        label = launch_label(self._source.path, launch.run_id) or self._source.path.stem
        out.attempt(label, start_s=launch.start_s, end_s=end_s, exit_code=launch.exit_code)


class ConsoleWriter(SourceWriter):
    """Leaves out the metrics that the history holds: the console prints the same values, rounded, without steps."""

    __slots__ = ("_known",)

    def __init__(self, out: SourceWriter, known: Collection[str]) -> None:
        super().__init__(out._builder, out.source)  # noqa: SLF001  (a writer for the same source)
        self._known = known  # canonical names

    def metrics(self, name: str, **points: Any) -> None:
        """Append the points of an unknown metric."""
        if canonical_metric(name) not in self._known:
            super().metrics(name, **points)

    def metric(self, name: str, value: float, **point: Any) -> None:
        """Append a point of an unknown metric."""
        if canonical_metric(name) not in self._known:
            super().metric(name, value, **point)

    def points(self, name: str, rank: int | None = None) -> Points:
        """Columns of a metric; those of a known one go nowhere."""
        return Points() if canonical_metric(name) in self._known else super().points(name, rank)


def record_body(record: memoryview, *, skip_summary: bool) -> tuple[int, memoryview]:
    """Kind of a record (its field number) and the bytes of that field; kind 0 for one that may be skipped.

    Raises:
        WireError: The record is damaged.
        IndexError: Its count does not end.
    """
    # History and summaries are nearly all of a long file, and their kind shows in the first bytes.
    if len(record) > _LONG:
        at = 0
        if record[0] == _COUNT_KEY:
            at = 2
            while record[at - 1] >= 0x80:
                at += 1
        key = record[at]
        if key == _SUMMARY_KEY and skip_summary:
            return 0, record
        if key == _HISTORY_KEY:
            low, high = record[at + 1], record[at + 2]
            if low >= 0x80 > high:  # the usual length of two bytes, without a call
                size, at = low & 0x7F | high << 7, at + 3
            else:
                size, at = varint(record, at + 1)
            payload = record[at : at + size]
            if len(payload) < size:
                raise WireError("the record ends within its history")
            return _HISTORY, payload
    for number, _, part in fields(record):
        if number not in _CONTROL and not isinstance(part, int):
            return number, part
    return 0, record
