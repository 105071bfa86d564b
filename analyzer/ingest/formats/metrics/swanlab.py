"""SwanLab's transaction log (``run-<id>.swanlab``), which holds all of a run, and the ``config.yaml`` beside it.

The framing is that of a ``.wandb`` file (its seven first bytes read ``:SWL``, magic 0xE1D6, a version). A record is a
protocol buffer message, ``swanlab.record.v1.Record``, whose one filled field says what it is::

    10 start   11 finish   13 scalar   16 log (a line of the console)   …      of SwanLab 0.10, file version 2

In ``config.yaml`` each value stands between a description and its place in the list::

    lr:
      desc: ''
      sort: 0
      value: 0.001
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable, Iterator

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.encodings.protobuf_wire import WireError, fields, signed
from analyzer.ingest.formats.wandb.wandb_files import WandbConfig
from analyzer.ingest.formats.wandb.wandb_framing import FrameReader, note_losses
from analyzer.ingest.formats.wandb.wandb_items import timestamp
from analyzer.ingest.formats.wandb.wandb_log import ConsoleWriter
from analyzer.ingest.metric_columns import MetricColumns
from analyzer.ingest.names import canonical_metric

MAGIC = b":SWL\xd6\xe1"
_START, _FINISH, _SCALAR, _LOG = 10, 11, 13, 16
_FINISHED = 1  # RUN_STATE_FINISHED; 2 crashed, 3 aborted
_SYSTEM = "__swanlab__."
"""Begins the names of the samples that SwanLab takes of the machine."""

_DOUBLE = struct.Struct("<d")
_CONFIG = re.compile(
    rb"^\S[^\n]{0,250}:\r?\n  desc: [^\n]{0,1000}\n  sort: \d{1,6}\r?\n  value:", re.MULTILINE
)


class SwanLabLog:
    """Reads a ``.swanlab`` file."""

    def sniff(self, candidate: Candidate) -> Match:
        """By the magic bytes."""
        return Match.SURE if candidate.head.startswith(MAGIC) else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Read every intact record; the console is read in a second pass, as it may be larger than memory."""
        _Reader(source, out).read()


class _Reader:
    def __init__(self, source: OpenSource, out: SourceWriter) -> None:
        self._source, self._out = source, out
        self._columns = MetricColumns(out)
        self._names: set[str] = set()
        self._start_s: float | None = None
        self._end_s: float | None = None
        self._state: int | None = None
        self._error = ""

    def read(self) -> None:
        frames = FrameReader(self._source.chunks())
        damaged = 0
        for number, record in enumerate(frames, 1):
            try:
                self._take(number, record)
            except WireError:
                damaged += 1
        if damaged:
            self._out.gap("records whose checksum is right but whose contents are not", rows_lost=damaged)
        note_losses(frames, self._out)
        self._columns.flush()
        self._read_console(frames.count)
        self._write_end(frames.count)

    def _take(self, number: int, record: memoryview) -> None:
        for kind, _, payload in fields(record):
            if isinstance(payload, int):
                continue
            if kind == _SCALAR:
                self._take_scalar(number, payload)
            elif kind == _START:
                self._start_s = next((timestamp(part) for at, part in _parts(payload) if at == 12), None)
            elif kind == _FINISH:
                self._take_finish(payload)

    def _take_scalar(self, number: int, payload: memoryview) -> None:
        key, step, time_s, value = "", 0, math.nan, 0.0  # a step and a value of 0 are not written
        for at, _, part in fields(payload):
            if isinstance(part, int):
                step = signed(part) if at == 2 else step
            elif at == 1:
                key = str(part, "utf-8", "replace")[:250]
            elif at == 4:
                time_s = timestamp(part)
            elif at == 5:
                value = _number(part)
        self._end_s = time_s if math.isfinite(time_s) else self._end_s
        if key.startswith(_SYSTEM):
            self._out.metric(f"system.{key[len(_SYSTEM) :]}", value, line=number, time_s=time_s)
        elif key:
            self._names.add(canonical_metric(key))
            self._columns.add(key, value, step=step, line=number, time_s=time_s)

    def _take_finish(self, payload: memoryview) -> None:
        self._state = 0
        for at, _, part in fields(payload):
            if isinstance(part, int):
                self._state = part if at == 1 else self._state
            elif at == 2:
                self._error = str(part, "utf-8", "replace")
            elif at == 3:
                self._end_s = timestamp(part)

    def _console(self) -> Iterator[tuple[int, str, float | None]]:
        """Lines of the console by record, and the traceback that the last record holds."""
        number = 0
        for number, record in enumerate(FrameReader(self._source.chunks()), 1):
            try:
                for kind, part in _parts(record):
                    if kind == _LOG:
                        yield number, _line(part), None
            except WireError:
                continue  # counted in the first pass
        for line in self._error.splitlines():
            yield number, line, self._end_s

    def _read_console(self, records: int) -> None:
        from analyzer.ingest.text.text_log import read_lines  # noqa: PLC0415  (compiles the patterns of all log lines)

        if records:
            read_lines(self._console(), ConsoleWriter(self._out, self._names))

    def _write_end(self, records: int) -> None:
        if self._state is None:
            text = "no record of its end: the run was killed or is still running"
            self._out.event(
                "tracker_no_exit_record",
                text,
                role="info",
                line=records or None,
                time_s=self._end_s,
                fields={"tracker": "SwanLab"},
            )
        exit_code = None if not self._state else int(self._state != _FINISHED)
        self._out.attempt(
            self._source.path.stem, start_s=self._start_s, end_s=self._end_s, exit_code=exit_code
        )


def _number(payload: memoryview) -> float:
    """The number of a scalar's value; one of 0 is not written."""
    for place, part in _parts(payload):
        if place == 1:
            if len(part) != _DOUBLE.size:
                raise WireError("a number that has not eight bytes")
            return float(_DOUBLE.unpack(part)[0])
    return 0.0


def _parts(payload: memoryview) -> Iterable[tuple[int, memoryview]]:
    """The fields of a message that are no integers."""
    return ((number, part) for number, _, part in fields(payload) if not isinstance(part, int))


def _line(payload: memoryview) -> str:
    return next((str(part, "utf-8", "replace") for number, part in _parts(payload) if number == 1), "")


class SwanLabConfig(WandbConfig):
    """Reads the ``config.yaml`` of a SwanLab run, whose values are wrapped as those of W&B are."""

    def sniff(self, candidate: Candidate) -> Match:
        """Values stand between a description and a place."""
        return Match.SURE if _CONFIG.search(candidate.head) else Match.NO
