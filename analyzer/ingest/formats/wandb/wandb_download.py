"""A W&B run as ``analyzer.fetch`` stores it: what the server holds, one JSON object a line.

The first line describes the run; the others are rows of history, rows of system metrics and console lines, each
as the server gave it::

    {"run": {"format": 1, "run_id": "3n17wxwa", "state": "crashed", "start_s": 1.79e9, "gaps": [], …}}
    {"history":{"_step":0,"_timestamp":1795243498.28,"train/loss":2,"train/grad_norm":"NaN"}}
    {"system":{"_timestamp":1795243499.1,"system.gpu.0.temp":80}}
    {"console":{"line":"Traceback (most recent call last):","time_s":1795243500.2,"level":"error"}}

Not for the files of the run, which lie beside it as W&B's client writes them.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.formats.wandb.wandb_history import write_history, write_system
from analyzer.ingest.formats.wandb.wandb_items import launch_label, numbers_in
from analyzer.ingest.formats.wandb.wandb_log import ConsoleWriter
from analyzer.ingest.metric_columns import MAX_METRICS
from analyzer.ingest.names import canonical_metric
from analyzer.ingest.source_text import bounded_lines
from analyzer.model.arrays import Integers, ShortIntegers, Values
from analyzer.model.tables import NULL_INT

_START = b'{"run": {"format": '
# What the states of the server say about the end. It keeps no exit code: 0 and 1 stand for "zero" and "not zero".
_EXIT_CODES = {"finished": 0, "failed": 1}
_NO_EXIT = {
    "crashed": "state crashed: the run stopped giving signs of life without an exit record",
    "killed": "state killed: a person or a sweep stopped the run",
    "preempted": "state preempted: the run was preempted and not taken up again",
    "running": "state running: the run has not ended",
    "preempting": "state preempting: the run is being preempted",
    "pending": "state pending: the run waits for its start",
}


class WandbDownload:
    """Reads ``run-<id>.jsonl`` of a fetched run."""

    def sniff(self, candidate: Candidate) -> Match:
        """By the first line."""
        return Match.SURE if candidate.head.startswith(_START) else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Read every line, then the console as the text log's reader reads one."""
        reader = _DownloadReader(source, out)
        reader.read()
        reader.write()


class RowColumns:
    """Numbers of many rows, by name; the same view of JSON rows as ``ItemColumns`` gives of binary records.

    Attributes:
        records: Line number of each row.
        refused: Values left out because there were more than ``MAX_METRICS`` names.
        damaged: Always 0: a damaged line is no row.
    """

    def __init__(self) -> None:
        self.records = array("q")
        self.refused = self.damaged = 0
        self._columns: dict[str, tuple[array[int], array[float]]] = {}

    def __len__(self) -> int:
        return len(self.records)

    def add(self, line: int, row: Mapping[str, Any]) -> None:
        """Append a row."""
        index = len(self.records)
        self.records.append(line)
        columns = self._columns
        for key, value in row.items():
            kind = type(value)
            if kind is float or kind is int:
                self._add(columns, key, index, value)
            elif kind is dict or kind is str:
                for name, number in numbers_in(key, value):
                    self._add(columns, name, index, number)

    def _add(
        self, columns: dict[str, tuple[array[int], array[float]]], name: str, index: int, value: float
    ) -> None:
        column = columns.get(name)
        if column is None:
            if len(columns) >= MAX_METRICS:
                self.refused += 1
                return
            column = columns[name] = (array("i"), array("d"))
        try:
            column[1].append(value)
        except OverflowError:  # an integer beyond every float
            column[1].append(math.inf if value > 0 else -math.inf)
        column[0].append(index)

    def steps(self) -> Integers:
        """int64, shape (n_rows,): ``NULL_INT``, for the rows hold their step as a value."""
        return np.full(len(self.records), NULL_INT, np.int64)

    def take(self) -> dict[str, list[tuple[ShortIntegers, Values]]]:
        """Rows (index into ``records``, ascending) and values of each name; given away once."""
        columns, self._columns = self._columns, {}
        return {
            name: [(np.frombuffer(rows, np.int32), np.frombuffer(values, np.float64))]
            for name, (rows, values) in columns.items()
        }


class _NoGaps(SourceWriter):
    """For a second pass over a file: what is lost there was noted in the first."""

    __slots__ = ()

    def __init__(self, out: SourceWriter) -> None:
        super().__init__(out._builder, out.source)  # noqa: SLF001  (a writer for the same source)

    def gap(
        self, reason: str, *, line: int | None = None, rows_lost: int | None = None, evidence: bool = False
    ) -> None:
        pass


class _DownloadReader:
    def __init__(self, source: OpenSource, out: SourceWriter) -> None:
        self._source = source
        self._out = out
        self._about: Mapping[str, Any] = {}
        self._history = RowColumns()
        self._system = RowColumns()
        self._system_times = array("d")
        self._console_end_s = math.nan
        self._consoles = 0

    def read(self) -> None:
        """Pass over all lines and sort them."""
        damaged = 0
        for number, kind, value in self._rows(self._out):
            if kind == "history":
                self._history.add(number, value)
            elif kind == "system":
                self._system.add(number, _without_prefix(value))
                self._system_times.append(_seconds(value.get("_timestamp")))
            elif kind == "console":
                self._consoles += 1
                self._console_end_s = _seconds(value.get("time_s"))
            elif kind == "run" and number == 1:
                self._about = value
            else:
                damaged += 1
        if damaged:
            self._out.gap("lines that are no rows of a fetched run", rows_lost=damaged)

    def _rows(self, out: SourceWriter, begin: bytes = b"") -> Iterator[tuple[int, str, Mapping[str, Any]]]:
        """Line number, kind and value of each line that begins so; a line that is damaged has no kind."""
        for number, raw in bounded_lines(self._source, out):
            if not raw.startswith(begin):
                continue
            try:
                decoded = json.loads(raw)
                ((kind, value),) = decoded.items()
            except (ValueError, AttributeError, RecursionError):
                kind, value = "", {}
            yield number, kind if isinstance(value, dict) else "", value

    def write(self) -> None:
        """Hand over what was read."""
        out, about = self._out, self._about
        names, history_end_s = write_history(self._history, out)
        write_system(self._system, self._system_times, out)
        for key in ("group", "job_type", "sweep"):
            if isinstance(about.get(key), str) and about[key]:
                out.config(f"wandb.{key}", about[key], framework="wandb", layer="runtime_echo", line=1)
        tags = [tag for tag in _list(about.get("tags")) if isinstance(tag, str)]
        if tags:
            out.config("wandb.tags", ", ".join(tags), framework="wandb", layer="runtime_echo", line=1)
        for reason in _list(about.get("gaps")):
            out.gap(f"not fetched in full: {reason}")
        self._read_console(names)
        self._write_end(history_end_s)

    def _read_console(self, names: Collection[str]) -> None:
        if not self._consoles:
            return
        from analyzer.ingest.text.text_log import read_lines  # noqa: PLC0415  (compiles the patterns of all log lines)

        known = frozenset(canonical_metric(name) for name in names)
        lines = (
            (number, str(value.get("line", "")), _seconds_or_none(value.get("time_s")))
            for number, kind, value in self._rows(_NoGaps(self._out), b'{"console"')
            if kind
        )
        read_lines(lines, ConsoleWriter(self._out, known))

    def _write_end(self, history_end_s: float | None) -> None:
        out, state = self._out, str(self._about.get("state", ""))
        start_s = _seconds_or_none(self._about.get("start_s"))
        times = [history_end_s or math.nan, *self._system_times[-1:], self._console_end_s]
        times.append(_seconds(self._about.get("heartbeat_s")))
        end_s = max((time_s for time_s in times if not math.isnan(time_s)), default=None)
        if state in _NO_EXIT:
            out.event(
                "tracker_no_exit_record",
                f"W&B {_NO_EXIT[state]}",
                role="info",
                line=1,
                time_s=end_s,
                fields={"tracker": "W&B"},
            )
        label = launch_label(self._source.path, str(self._about.get("run_id", ""))) or self._source.path.stem
        out.attempt(label, start_s=start_s, end_s=end_s, exit_code=_EXIT_CODES.get(state))


def _without_prefix(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of system metrics under the names that the local log has, without its clocks."""
    return {
        key.removeprefix("system."): value
        for key, value in row.items()
        if key not in ("_timestamp", "_runtime", "_wandb", "_step")
    }


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _seconds(value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else math.nan  # type: ignore[arg-type]


def _seconds_or_none(value: object) -> float | None:
    seconds = _seconds(value)
    return None if math.isnan(seconds) else seconds
