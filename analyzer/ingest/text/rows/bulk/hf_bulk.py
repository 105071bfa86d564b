"""The strict bulk form of Hugging Face rows: one dict of numbers, alone on its record or glued to a bar.

     10%|#         | 10/100 [00:01<00:09,  9.0it/s]{'loss': 1.5303, 'grad_norm': 0.8, 'learning_rate': 6.4e-05, 'epoch': 0.02}

Which names a trainer prints, and in which order, is learned from its first row; further rows are matched by the
expression made of them.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from analyzer.ingest.text.log_line import CONTEXT_BYTES
from analyzer.ingest.text.prefixes import peel
from analyzer.ingest.text.rows.bulk.bulk_lines import Batch, CurvePart, Records
from analyzer.ingest.text.rows.bulk.learned_shapes import (
    NUMBER,
    Kinds,
    LazyBytesRegex,
    LearnedShapes,
    floats,
    integers,
)
from analyzer.ingest.text.rows.trainers.hf_rows import NO_BAR, Bar, Row, RowBatch
from analyzer.model.tables import NULL_INT

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from analyzer.ingest.text.log_line import LogState
    from analyzer.ingest.text.text_layer import Block

_ITEM = LazyBytesRegex(rb"'([\w./@ -]{1,80})': ('?)(?:" + NUMBER + rb")\2(?:, |\}[ \t]*\Z)")
_SIZED_BAR = rb"\d{1,3}%\|[^|\r\n{]{0,380}\| {1,3}(\d{1,12})/(\d{1,12}) \["
_BAR_BEFORE = rb"[ \t]{0,64}" + _SIZED_BAR + rb"[^\r\n{%]{0,300}"
_BAR_ABOVE = LazyBytesRegex(rb"[ \t]{0,64}" + _SIZED_BAR)
# Something that no bar begins with, or a bar; other characters may be blanks or digits of other scripts.
_BELOW = LazyBytesRegex(
    rb"[ \t\r\n]{0,64}(?:(?=[!-/:-~]|\d{1,3}[\t\r\n -$&-/:-~]|\d{4})|" + _SIZED_BAR + rb")"
)
_BLANK_BELOW = LazyBytesRegex(rb"[ \t\r\n]*\Z")

_UNSURE: Bar = (-1, -1)
"""Only the reader of single lines can tell the bar."""


class RowTaker(Protocol):
    """The grammar that takes rows."""

    def add(self, row: Row, log: LogState) -> bool:
        """Take one."""

    def may_add_all(self, first: Row, count: int) -> bool:
        """Whether ``add_all`` may be called for rows of which no two neighbours print the same."""

    def add_all(self, rows: RowBatch, last: Row, log: LogState) -> None:
        """Take many, of which one is the last."""


class _Rows(Batch):
    """Rows of one block: those of each kind as columns, and of each row the kind and its place in there."""

    def __init__(self, records: Records, parts: list[_Part], taker: RowTaker) -> None:
        super().__init__(records)
        self._taker = taker
        self._names = [part.names for part in parts]
        self._values = [part.values for part in parts]
        self._kinds = Kinds([part.places for part in parts])
        order = self._kinds.order
        self._bars = np.concatenate([part.bars for part in parts])[order]
        self._ranks = np.concatenate([part.ranks for part in parts])[order]
        self._times_s = np.concatenate([part.times_s for part in parts])[order]
        self.steps = np.where(self._bars[:, 2] == NULL_INT, self._bars[:, 0], self._bars[:, 2])

    def _row(self, index: int, number: int, time_s: float | None) -> Row:
        kind, within = self._kinds.one(index)
        bar = self._bars[index].tolist()
        rank, own_s = int(self._ranks[index]), float(self._times_s[index])
        return Row(
            number,
            None if rank == NULL_INT else rank,
            time_s if math.isnan(own_s) else own_s,
            self._names[kind],
            tuple(self._values[kind][within].tolist()),
            None if bar[0] == NULL_INT else (bar[0], bar[1]),
            None if bar[2] == NULL_INT else (bar[2], bar[3]),
        )

    def take(self, index: int, block: Block, log: LogState) -> None:
        """See ``Batch.take``."""
        line = int(self.lines[index])
        self._taker.add(self._row(index, block.number(line), block.time_s(line)), log)

    def ready(self, low: int, high: int, log: LogState) -> bool:  # noqa: ARG002
        """See ``Batch.ready``."""
        together = self._kinds.together(low, high)
        if together is None:
            return False
        values = self._values[together[0]][together[1]]
        if bool((values[1:] == values[:-1]).all(axis=1).any()):
            return False
        return self._taker.may_add_all(self._row(low, 0, None), high - low)

    def take_all(
        self, low: int, high: int, numbers: npt.NDArray[np.int64], log: LogState
    ) -> Iterable[CurvePart]:
        """See ``Batch.take_all``; points are written when the steps are known."""
        together = self._kinds.together(low, high)
        if together is not None:
            kind, within = together
            columns = (self._bars[low:high], self._ranks[low:high], self._times_s[low:high])
            rows = RowBatch(self._names[kind], numbers, self._values[kind][within], *columns)
            self._taker.add_all(rows, self._row(high - 1, int(numbers[-1]), None), log)
        return ()


class _Part(NamedTuple):
    """Rows of one kind.

    Attributes:
        names: Names of their numbers.
        places: int64, shape (n_rows,): which records they are.
        values: float64, shape (n_rows, n_names).
        bars: int64, shape (n_rows, 4): steps done and intended by the bar above and by the bar below.
        ranks: int64, shape (n_rows,).
        times_s: float64, shape (n_rows,).
    """

    names: tuple[str, ...]
    places: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    bars: npt.NDArray[np.int64]
    ranks: npt.NDArray[np.int64]
    times_s: npt.NDArray[np.float64]

    def only(self, kept: npt.NDArray[np.bool_]) -> _Part:
        """Some of them."""
        return _Part(
            self.names,
            self.places[kept],
            self.values[kept],
            self.bars[kept],
            self.ranks[kept],
            self.times_s[kept],
        )


class HfBulkForm:
    """See ``analyzer.ingest.text.rows.bulk.bulk_lines.BulkForm``.

    Args:
        taker: Takes the rows.
    """

    anchor = b"{'loss': "
    swallows: tuple[str, ...] = (
        "{'loss': ", "'epoch': ", "'grad_norm': ", "grad_norm", "loss", "'step': ", "'global_step': "
    )  # fmt: skip
    passed_by: tuple[str, ...] = ()

    def __init__(self, taker: RowTaker) -> None:
        self._taker = taker
        self._shapes = LearnedShapes(_learn, rb"(?:%b)?" % _BAR_BEFORE)

    def match(self, block: Block, records: Records) -> Batch:
        """See ``BulkForm.match``."""
        # Learns the first kind, so that the records after it can be read together.
        self._shapes.match(block.data, int(records.positions[0]), int(records.ends[0]))
        below = _bars_below(block, records.ends)
        parts: list[_Part] = []
        alone = np.ones(records.starts.size, np.bool_)
        for table in self._shapes.tables(records.rows(block.data)):
            alone[table.places] = False
            bars = np.column_stack([*map(integers, table.before), below[table.places]])
            without = np.flatnonzero(bars[:, 0] == NULL_INT)
            starts = records.starts[table.places[without]].tolist()
            bars[without, :2] = [_bar_above(block.data, start) or NO_BAR for start in starts] or NO_BAR
            unknown = np.full((2, table.places.size), NULL_INT)
            part = _Part(table.names, table.places, table.values, bars, unknown[0], unknown[1] * math.nan)
            parts.append(part.only((bars[:, [0, 2]] != _UNSURE[0]).all(axis=1)))
        for place in np.flatnonzero(alone).tolist():
            single = self._single(block.data, records, place, below[place])
            if single is not None:
                parts.append(single)
        parts = [part for part in parts if part.places.size]
        if not parts:
            return Batch(records.only(alone[:0]))
        kept = np.sort(np.concatenate([part.places for part in parts]))
        return _Rows(records.only(kept), parts, self._taker)

    def _single(
        self, data: bytes, records: Records, place: int, below: npt.NDArray[np.int64]
    ) -> _Part | None:
        """A row behind something other than a bar, or the first of its kind."""
        start, end, at, _ = (int(column[place]) for column in records)
        match = self._shapes.match(data, at, end)
        prefix = data[start:at]
        if match is None or b"{" in prefix or b"%" in prefix:
            return None  # a bar goes through the tables, from the second row of a kind on
        above = _bar_above(data, start) or NO_BAR
        if _UNSURE[0] in (above[0], below[0]):
            return None
        peeled = peel(data[start:end].decode("utf-8", "replace"))
        return _Part(
            match[1],
            np.array([place]),
            floats(match[0].groups()).reshape(1, -1),
            np.array([[*above, *below]], np.int64),
            np.array([NULL_INT if peeled.rank is None else peeled.rank]),
            np.array([math.nan if peeled.time_s is None else peeled.time_s]),
        )


def _learn(text: bytes) -> tuple[tuple[str, ...], bytes] | None:
    """The shape of a row that is wholly made of plain numbers."""
    names: list[bytes] = []
    parts: list[bytes] = []
    position = 1
    while position < len(text) and (item := _ITEM.match(text, position)):
        names.append(item[1])
        parts.append(b"'%b': %b(%b)%b" % (re.escape(item[1]), item[2], NUMBER, item[2]))
        position = item.end()
    if position != len(text) or not text.rstrip(b" \t").endswith(b"}") or len(set(names)) < len(names):
        return None
    return tuple(name.decode() for name in names), rb"\{" + b", ".join(parts) + rb"\}[ \t]*"


def _bar_above(data: bytes, start: int) -> Bar | None:
    """The last bar drawn in the text before a record, as the reader of single lines sees it."""
    low = max(0, start - CONTEXT_BYTES)
    sign = data.rfind(b"%|", low, start)
    if sign < 0:
        return None
    begin = max(data.rfind(b"\n", low, sign), data.rfind(b"\r", low, sign)) + 1
    bar = _BAR_ABOVE.match(data, begin, start) if begin > low else None
    return (int(bar[1]), int(bar[2])) if bar else _UNSURE


def _bars_below(block: Block, ends: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """int64, shape (n_records, 2): the bar that is redrawn under each record."""
    text = block.text
    after = text[np.minimum(ends[:, None] + np.arange(5), text.size - 1)]
    plain, digit, ended = _PLAIN_BYTES[after], _DIGITS[after], _ENDS_NUMBER[after]
    number = ended[:, 4] | digit[:, 4]
    for column in (3, 2):
        number = ended[:, column] | digit[:, column] & number
    # A line break and something that no bar begins with: see ``_BELOW``, which tells all other cases.
    none = (ends + 5 < text.size) & _BREAKS[after[:, 0]] & (plain[:, 1] | digit[:, 1] & number)
    bars = np.full((ends.size, 2), NULL_INT)
    for place in np.flatnonzero(~none).tolist():
        bars[place] = _bar_below(block.data, int(ends[place])) or NO_BAR
    return bars


def _is_one_of(expression: bytes) -> npt.NDArray[np.bool_]:
    """bool, shape (256,): which bytes a class of characters holds."""
    return np.array([re.fullmatch(expression, bytes([byte])) is not None for byte in range(256)])


_PLAIN_BYTES = _is_one_of(rb"[!-/:-~]")
_DIGITS = _is_one_of(rb"[0-9]")
_ENDS_NUMBER = _is_one_of(rb"[\t\r\n -$&-/:-~]")
_BREAKS = _is_one_of(rb"[\r\n]")


def _bar_below(data: bytes, end: int) -> Bar | None:
    """The bar that is redrawn under a record."""
    match = _BELOW.match(data, end)
    if match is None:
        blank = len(data) - end <= 64 and _BLANK_BELOW.match(data, end)
        return None if blank else _UNSURE
    return (int(match[1]), int(match[2])) if match[1] is not None else None
