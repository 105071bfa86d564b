"""Logs whose every line is a JSON object with a message: structured loggers of many languages, and systemd's journal.

    {"level":"error","ts":"2026-03-04T10:00:01Z","msg":"CUDA out of memory …","exc_info":"Traceback (most …"}
    {"__REALTIME_TIMESTAMP":"1772618401000000","SYSLOG_IDENTIFIER":"kernel","MESSAGE":"NVRM: Xid (PCI:0000:3b:00): 79, …"}

The message and the text of an exception are read as the lines of a console, at the line of their object and with its
time. Numbers beside the message (``"step": 5, "loss": 2.1``) are points of metrics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analyzer.ingest.base import DIARIES, Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.metric_columns import is_known_metric
from analyzer.ingest.scalar_text import json_object, metric_value, whole_step
from analyzer.ingest.source_text import bounded_lines
from analyzer.ingest.text.prefixes import unix_time
from analyzer.ingest.text.text_log import read_lines

_MESSAGE = ("msg", "message", "MESSAGE", "log", "text", "short_message")
_LEVEL = ("level", "severity", "levelname", "lvl", "log_level", "PRIORITY", "log.level")
_TIME = ("ts", "time", "timestamp", "@timestamp", "asctime", "datetime", "date")
_EXCEPTION = (
    "exc_info",
    "exception",
    "stack",
    "stacktrace",
    "stack_trace",
    "traceback",
    "error.stack_trace",
    "exc_text",
)
_STEP = ("step", "global_step", "iteration", "iter", "train/step")
_JOURNAL_TIME = "__REALTIME_TIMESTAMP"

_DIARY = "debug.log"
"""What the client of W&B calls the diary of its part within the program."""

SNIFFED_LINES = 20
"""Lines that show what kind of log it is."""


class StructuredLog:
    """Reads a log of JSON objects that hold messages."""

    def sniff(self, candidate: Candidate) -> Match:
        """The first lines are objects with a message, and a level or a time."""
        if candidate.name.endswith(DIARIES) or candidate.name.rpartition("/")[2] == _DIARY:
            return Match.NO
        rows = [
            row for line in candidate.head.splitlines()[:SNIFFED_LINES] if (row := _row(line)) is not None
        ]
        if not rows:
            return Match.NO
        worded = [
            row for row in rows if _first(row, _MESSAGE) and (_first(row, _LEVEL) or _time_s(row) is not None)
        ]
        if len(worded) * 2 <= len(rows):
            return Match.NO
        return Match.SURE if any(_JOURNAL_TIME in row for row in worded) else Match.LIKELY

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Messages as lines, numbers beside them as points; lines that are no object are read as they stand."""
        read_lines(
            (line for number, data in bounded_lines(source, out) for line in _line(data, number, out)), out
        )


def _line(line: bytes, number: int, out: SourceWriter) -> Iterator[tuple[int, str, float | None]]:
    row = _row(line)
    if row is None:
        if line.strip():
            yield number, line.decode("utf-8", "replace").rstrip("\r\n"), None
        return
    time_s = _time_s(row)
    message = _first(row, _MESSAGE)
    who = row.get("SYSLOG_IDENTIFIER")
    yield number, f"kernel: {message}" if who == "kernel" else message, time_s
    for key in _EXCEPTION:
        if isinstance(text := row.get(key), str) and text and text not in message:
            for part in text.splitlines():
                yield number, part, time_s
    _points(row, number, time_s, out)


def _points(row: Mapping[str, Any], number: int, time_s: float | None, out: SourceWriter) -> None:
    """Numbers under known names, or beside a step."""
    step = next((at for key in _STEP if (at := whole_step(row.get(key))) is not None), None)
    for key, value in row.items():
        if key in _STEP or isinstance(value, bool) or not is_known_metric(key):
            continue
        if isinstance(value, int | float | str) and (point := metric_value(value)) is not None:
            out.metric(key, point, step=step, line=number, time_s=time_s)


def _row(line: bytes) -> dict[str, Any] | None:
    line = line.strip()
    return json_object(line) if line.startswith(b"{") else None


def _first(row: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    """The first of some fields that holds text; the journal keeps text that is no UTF-8 as a list of bytes."""
    for key in keys:
        value = row.get(key)
        if isinstance(value, str) and value:
            return value.rstrip("\n")
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, list) and value and all(isinstance(b, int) and 0 <= b < 256 for b in value):
            return bytes(value).decode("utf-8", "replace")
    return ""


def _time_s(row: Mapping[str, Any]) -> float | None:
    stamp = row.get(_JOURNAL_TIME)
    if isinstance(stamp, str) and stamp.isdigit() and len(stamp) <= 18:
        return int(stamp) / 1e6
    for key in _TIME:
        value = row.get(key)
        if isinstance(value, str) and (time_s := unix_time(value)) is not None:
            return time_s
        if isinstance(value, int | float) and not isinstance(value, bool) and 1e9 < value < 1e19:
            for unit in (1.0, 1e3, 1e6, 1e9):  # seconds, and what Java, Go and others count in
                if value / unit < 1e10:
                    return float(value / unit)
    return None
