"""The strict bulk form of Megatron's block of timers; see ``block_forms`` for what it means.

(min, max) time across ranks (ms):
    forward-backward ...............................: (1000.10, 1100.25)
    optimizer ......................................: (80.00, 90.00)
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from analyzer.ingest.bulk_lines import CurvePart, Records, StepsFromOthers
from analyzer.ingest.metric_lines.learned_shapes import NUMBER, LazyBytesRegex
from analyzer.ingest.prefixes import peel
from analyzer.ingest.text_layer import record_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from analyzer.ingest.log_line import LogState
    from analyzer.ingest.text_layer import Block

_ROW = rb" {1,8}([a-z][\w-]{1,60}) ?\.{2,80}: \((?:(?:%b), {0,8})?(%b)\)[ \t]{0,8}\n" % (NUMBER, NUMBER)
_BLOCK = LazyBytesRegex(
    rb"(?:\(min, max\)|max|min) time across ranks \(ms\):?[ \t]{0,8}\n((?:%b){1,100})" % _ROW
)
_ROWS = LazyBytesRegex(_ROW)
_PLAIN_END = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.")
"""Bytes with which no prefix ends, so that a record that ends with one is more than a prefix."""


class _Timers(StepsFromOthers):
    """Blocks of timers: of each the names and milliseconds of its lines."""

    def __init__(self, columns: Records, rows: list[list[tuple[bytes, bytes]]], form: TimersBulkForm) -> None:
        super().__init__(columns.starts, columns.ends, columns.lines)
        self._rows = rows
        self._form = form

    def take(self, index: int, block: Block, log: LogState) -> None:
        """See ``Batch.take``."""
        kept: dict[str, tuple[float, int, float | None]] = {}
        for below, (key, value) in enumerate(self._rows[index], start=self.lines[index] + 1):
            name = self._form.names.get(key)
            if name is not None and name not in kept:
                kept[name] = (float(value), block.number(below), block.time_s(below))
        if kept:
            self._form.write(kept, log.step, log)

    def ready(self, low: int, high: int, log: LogState) -> bool:
        """See ``Batch.ready``."""
        known = self._form.names
        names = {key for rows in self._rows[low:high] for key, _ in rows if key in known}
        return all(log.has_curve(self._form.written[known[key]], None) for key in names)

    def take_all(
        self,
        low: int,
        high: int,
        numbers: npt.NDArray[np.int64],
        log: LogState,  # noqa: ARG002
    ) -> Iterable[CurvePart]:
        """See ``Batch.take_all``."""
        known = self._form.names
        columns: dict[str, list[tuple[int, int, float, int]]] = {}
        reached = self.reached.tolist()
        parts = zip(self._rows[low:high], self.starts[low:high], numbers.tolist(), reached, strict=True)
        for rows, begin, number, step in parts:
            seen: set[str] = set()
            for below, (key, value) in enumerate(rows, start=number + 1):
                name = known.get(key)
                if name is not None and name not in seen:
                    seen.add(name)
                    columns.setdefault(name, []).append((begin, step, float(value), below))
        for name, points in columns.items():
            begins, steps, values, lines = zip(*points, strict=True)
            yield CurvePart(
                self._form.written[name],
                None,
                begins,
                np.array(steps, np.int64),
                np.array(values),
                np.array(lines, np.int64),
                np.full(len(lines), np.nan),
            )


class TimersBulkForm:
    """See ``analyzer.ingest.bulk_lines.BulkForm``.

    Args:
        written: Names under which timers are kept.
        write: Takes name, milliseconds, line number and time of a block's lines, and the step.
    """

    anchor = b"time across ranks (ms)"
    swallows: tuple[str, ...] = ("time across ranks (ms)", "time ")
    passed_by: tuple[str, ...] = ("RowForms",)

    def __init__(
        self,
        written: Mapping[str, str],
        write: Callable[[dict[str, tuple[float, int, float | None]], int | None, LogState], None],
    ) -> None:
        self.written = written
        self.names = {name.encode(): name for name in written}
        self.write = write

    def match(self, data: bytes, records: Records, wanted: Sequence[int]) -> _Timers:
        """See ``BulkForm.match``."""
        kept: list[int] = []
        rows: list[list[tuple[bytes, bytes]]] = []
        ends: list[int] = []
        covered = 0
        for index, start in enumerate(records.starts):
            block = _BLOCK.match(data, start)
            # The line that follows ends the block; of blanks or of a further row single lines must tell.
            if start < covered or block is None or block.end() >= len(data):
                continue
            after = record_end(data, block.end())
            following = data[block.end() : after]
            if after == len(data) or b"..: (" in following or not _is_text(following):
                continue
            if bisect_left(wanted, start) < bisect_left(wanted, block.end()):
                continue
            covered = block.end()
            kept.append(index)
            ends.append(block.end() - 1)
            rows.append(_ROWS.findall(block[1]))
        return _Timers(records.only(kept)._replace(ends=ends), rows, self)


def _is_text(record: bytes) -> bool:
    """Whether a record holds more than prefixes and blanks."""
    if record[-1:] and record[-1] in _PLAIN_END:
        return True
    return bool(peel(record.decode("utf-8", "replace")).text.strip())
