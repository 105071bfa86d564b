"""The strict bulk form of Megatron's block of timers; see ``block_forms`` for what it means.

(min, max) time across ranks (ms):
    forward-backward ...............................: (1000.10, 1100.25)
    optimizer ......................................: (80.00, 90.00)

Which timers a block lists is learned from the first; further ones are matched by the expression made of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from analyzer.ingest.text.prefixes import peel
from analyzer.ingest.text.rows.bulk.bulk_lines import CurvePart, Records, StepsFromOthers
from analyzer.ingest.text.rows.bulk.learned_shapes import (
    MAX_SHAPES,
    NUMBER,
    Kinds,
    LazyBytesRegex,
    WholeRows,
    floats,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy.typing as npt

    from analyzer.ingest.text.log_line import LogState
    from analyzer.ingest.text.text_layer import Block

_HEAD = rb"(?:\(min, max\)|max|min) time across ranks \(ms\):?[ \t]{0,8}\n"
_ROW = rb" {1,8}(%b) ?\.{2,80}: \((?:(?:%b), {0,8})?(%b)\)[ \t]{0,8}\n"
_ANY_ROW = _ROW % (rb"[a-z][\w-]{1,60}", NUMBER, NUMBER)
_BLOCK = LazyBytesRegex(_HEAD + rb"((?:%b){1,100})" % _ANY_ROW)
_ROWS = LazyBytesRegex(_ANY_ROW)
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PLAIN_END = np.isin(np.arange(256), list(_LETTERS + b"0123456789."))
"""Bytes with which no prefix ends, so that a record that ends with one is more than a prefix."""

# A first word behind which no prefix ends, then something; or an end that no prefix has, then blanks.
_TEXT = LazyBytesRegex(
    rb"[a-z][^\s|]{0,200}[^\s|:\x80-\xff] [^\s|\x80-\xff]|[^\r\n]{0,4000}[A-EG-OQ-Za-z] {1,8}\Z"
)


class _Shape(NamedTuple):
    """The timers that a block lists, and the expression for such blocks."""

    keys: tuple[bytes, ...]
    whole: WholeRows


class _Part(NamedTuple):
    """Blocks that list the same timers.

    Attributes:
        keys: Their names.
        places: int64, shape (n_blocks,): which records they are.
        values: float64, shape (n_blocks, n_timers): milliseconds.
    """

    keys: tuple[bytes, ...]
    places: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]


class _Timers(StepsFromOthers):
    """The blocks of timers in one block of the log."""

    def __init__(self, records: Records, parts: list[_Part], form: TimersBulkForm) -> None:
        super().__init__(records)
        self._parts = parts
        self._kinds = Kinds([part.places for part in parts])
        # Of a name that stands twice in a block the first counts.
        self._columns = [
            [(form.names[key], at) for at, key in enumerate(part.keys) if key in form.names and key not in part.keys[:at]]
            for part in parts
        ]  # fmt: skip
        self._form = form

    def take(self, index: int, block: Block, log: LogState) -> None:
        """See ``Batch.take``."""
        kind, within = self._kinds.one(index)
        kept: dict[str, tuple[float, int, float | None]] = {}
        for name, at in self._columns[kind]:
            line = int(self.lines[index]) + 1 + at
            kept[name] = (float(self._parts[kind].values[within, at]), block.number(line), block.time_s(line))
        if kept:
            self._form.write(kept, log.step, log)

    def ready(self, low: int, high: int, log: LogState) -> bool:
        """See ``Batch.ready``."""
        together = self._kinds.together(low, high)
        if together is None:
            return False
        return all(log.has_curve(self._form.written[name], None) for name, _ in self._columns[together[0]])

    def take_all(
        self,
        low: int,
        high: int,
        numbers: npt.NDArray[np.int64],
        log: LogState,  # noqa: ARG002
    ) -> Iterable[CurvePart]:
        """See ``Batch.take_all``."""
        together = self._kinds.together(low, high)
        if together is None:
            return
        kind, within = together
        for name, at in self._columns[kind]:
            yield CurvePart(
                self._form.written[name],
                None,
                self.starts[low:high],
                self.reached,
                self._parts[kind].values[within, at],
                numbers + 1 + at,
                np.full(high - low, np.nan),
            )


class TimersBulkForm:
    """See ``analyzer.ingest.text.rows.bulk.bulk_lines.BulkForm``.

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
        self._shapes: list[_Shape] = []

    def match(self, block: Block, records: Records, wanted: npt.NDArray[np.int64]) -> _Timers:
        """See ``BulkForm.match``."""
        self._learn(block.data, int(records.starts[0]))
        parts: list[_Part] = []
        ends = np.full(records.starts.size, -1)
        left = np.arange(records.starts.size)
        for shape in self._shapes:
            found, values = self._same_shape(shape, block, records.only(left))
            if found.size:
                places = left[found]
                ends[places] = block.newlines[records.lines[places] + len(shape.keys)] + 1
                parts.append(_Part(shape.keys, places, values))
                left = np.delete(left, found)
            if not left.size:
                break
        if left.size:
            self._learn(block.data, int(records.starts[left[-1]]))  # for the next block
        free = np.searchsorted(wanted, records.starts) == np.searchsorted(wanted, ends)
        kept = _over(block, ends) & free
        parts = [_Part(keys, places[kept[places]], values[kept[places]]) for keys, places, values in parts]
        return _Timers(records.only(kept)._replace(ends=ends[kept] - 1), _renumbered(parts, kept), self)

    def _learn(self, data: bytes, start: int) -> None:
        """Add the shape of the block at a position, if it is one and new."""
        block = _BLOCK.match(data, start)
        if block is None or len(self._shapes) >= MAX_SHAPES:
            return
        keys = tuple(key for key, _ in _ROWS.findall(block[1]))
        if all(keys != shape.keys for shape in self._shapes):
            rows = b"".join(
                _ROW.replace(b"(%b)", b"%b", 1) % (re.escape(key), NUMBER, NUMBER) for key in keys
            )
            self._shapes.append(_Shape(keys, WholeRows(_HEAD + rows, b"\r")))

    @staticmethod
    def _same_shape(
        shape: _Shape, block: Block, records: Records
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Which of some records begin blocks of a shape, and their milliseconds."""
        data, newlines = block.data, block.newlines
        last = records.lines + len(shape.keys)
        places = np.flatnonzero(last < newlines.size)
        pieces = records.only(places)._replace(ends=newlines[last[places]] + 1).rows(data)
        if not pieces or any(b"\r" in piece for piece in pieces):  # a bar is redrawn within a block
            return places[:0], np.zeros((0, len(shape.keys)))
        kept, columns = shape.whole.match(pieces)
        return places[kept], np.column_stack([floats(column) for column in columns])


def _renumbered(parts: list[_Part], kept: npt.NDArray[np.bool_]) -> list[_Part]:
    """Parts whose places count only the records that are kept."""
    rank = np.cumsum(kept) - 1
    return [part._replace(places=rank[part.places]) for part in parts]


def _over(block: Block, ends: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """bool, shape (n_blocks,): whether the record at each position surely ends a block of timers.

    Of blanks or of a further row single lines must tell.
    """
    places = np.searchsorted(block.breaks, ends)
    known = np.flatnonzero((ends >= 0) & (places < block.breaks.size))
    after = block.breaks[places[known]]
    plain = _PLAIN_END[block.text[after - 1]] & (after > ends[known])
    over = np.zeros(ends.size, np.bool_)
    data = block.data
    for place, begin, end, is_plain in zip(
        known.tolist(), ends[known].tolist(), after.tolist(), plain.tolist(), strict=True
    ):
        over[place] = data.find(b"..: (", begin, end) < 0 and (is_plain or _is_text(data[begin:end]))
    return over


def _is_text(record: bytes) -> bool:
    """Whether a record holds more than prefixes and blanks."""
    return _TEXT.match(record) is not None or bool(peel(record.decode("utf-8", "replace")).text.strip())
