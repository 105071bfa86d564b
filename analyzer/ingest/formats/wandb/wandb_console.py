r"""The console that a ``.wandb`` file keeps in pieces, as lines.

A piece is whatever one call of ``write`` gave, so ``print("step", 1)`` becomes four records::

    {type: stdout, line: "step"}  {type: stdout, line: " "}  {type: stdout, line: "1"}  {type: stdout, line: "\n"}

and a progress bar's pieces ("\r 10%|#   |") lie between them. Not for the meaning of a line: see ``text_log``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from analyzer.ingest.encodings.protobuf_wire import WireError, fields
from analyzer.ingest.formats.wandb.wandb_items import timestamp
from analyzer.ingest.text.text_layer import MAX_RECORD_BYTES

OUTPUT, OUTPUT_RAW, OUTPUT_LOGGER = 4, 13, 27
"""Record types: console behind a terminal emulation (old), as written, and lines that a program hands over."""

_STDERR, _STDOUT, _LOGGER_STREAM = 0, 1, 2  # the first two as in the schema
_LINE_END = re.compile(r"[\r\n]")

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
