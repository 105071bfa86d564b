"""The strict bulk form of Hugging Face rows: one dict of numbers, alone on its record or glued to a bar.

     10%|#         | 10/100 [00:01<00:09,  9.0it/s]{'loss': 1.5303, 'grad_norm': 0.8, 'learning_rate': 6.4e-05, 'epoch': 0.02}

Which names a trainer prints, and in which order, is learned from its first row; further rows are matched by the
expression made of them.
"""

from __future__ import annotations

import re
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from analyzer.ingest.bulk_lines import Batch, CurvePart, Records
from analyzer.ingest.log_line import CONTEXT_BYTES
from analyzer.ingest.metric_lines.hf_rows import NO_BAR, Bar, Row
from analyzer.ingest.metric_lines.learned_shapes import NUMBER, LazyBytesRegex, LearnedShapes
from analyzer.ingest.prefixes import peel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from analyzer.ingest.log_line import LogState
    from analyzer.ingest.text_layer import Block

_ITEM = LazyBytesRegex(rb"'([\w./@ -]{1,80})': ('?)(?:" + NUMBER + rb")\2(?:, |\}[ \t]*\Z)")
_SIZED_BAR = rb"\d{1,3}%\|[^|\r\n{]{0,380}\| {1,3}(\d{1,12})/(\d{1,12}) \["
_BAR_BEFORE = LazyBytesRegex(rb"[ \t]{0,64}" + _SIZED_BAR + rb"[^\r\n{%]{0,300}")
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

    def add_all(self, rows: list[Row], log: LogState) -> None:
        """Take many."""


class _Matched(NamedTuple):
    """A record: names, numbers, bars around it, rank and time."""

    names: tuple[str, ...]
    values: tuple[float, ...]
    above: Bar | None
    below: Bar | None
    rank: int | None
    time_s: float | None


class _Rows(Batch):
    """Rows of one block."""

    def __init__(self, columns: Records, found: list[_Matched], taker: RowTaker) -> None:
        super().__init__(columns.starts, columns.ends, columns.lines)
        self._found = found
        self._taker = taker
        reached = [row.below or row.above or NO_BAR for row in found]
        self.steps = np.array([bar[0] for bar in reached], np.int64)

    def _row(self, index: int, number: int, time_s: float | None) -> Row:
        names, values, above, below, rank, own_s = self._found[index]
        return Row(number, rank, time_s if own_s is None else own_s, names, values, above, below)

    def take(self, index: int, block: Block, log: LogState) -> None:
        """See ``Batch.take``."""
        line = self.lines[index]
        self._taker.add(self._row(index, block.number(line), block.time_s(line)), log)

    def ready(self, low: int, high: int, log: LogState) -> bool:  # noqa: ARG002
        """See ``Batch.ready``."""
        found = self._found[low:high]
        for one, other in pairwise(found):
            if one.values == other.values or one.names is not other.names:
                return False
        return self._taker.may_add_all(self._row(low, 0, None), high - low)

    def take_all(
        self,
        low: int,
        high: int,  # noqa: ARG002
        numbers: npt.NDArray[np.int64],
        log: LogState,
    ) -> Iterable[CurvePart]:
        """See ``Batch.take_all``; points are written when the steps are known."""
        self._taker.add_all(
            [self._row(low + i, number, None) for i, number in enumerate(numbers.tolist())], log
        )
        return ()


class HfBulkForm:
    """See ``analyzer.ingest.bulk_lines.BulkForm``.

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
        self._shapes = LearnedShapes(_learn)

    def match(self, data: bytes, records: Records, wanted: Sequence[int]) -> Batch:  # noqa: ARG002
        """See ``BulkForm.match``."""
        kept: list[int] = []
        found: list[_Matched] = []
        bars = map(_BAR_BEFORE.fullmatch, repeat(data), records.starts, records.positions)
        columns = zip(records.starts, records.ends, records.positions, bars, strict=True)
        for index, (start, end, at, bar) in enumerate(columns):
            match = self._shapes.match(data, at, end)
            if match is None:
                continue
            below = _bar_below(data, end)
            rank: int | None = None
            time_s: float | None = None
            if bar is not None:
                above: Bar | None = (int(bar[1]), int(bar[2]))
            else:
                above = _bar_above(data, start)
                if at > start:
                    prefix = data[start:at]
                    if b"{" in prefix or b"%" in prefix:
                        continue
                    peeled = peel(data[start:end].decode("utf-8", "replace"))
                    rank, time_s = peeled.rank, peeled.time_s
            if above is not _UNSURE and below is not _UNSURE:
                kept.append(index)
                values = tuple(map(float, match[0].groups()))
                found.append(_Matched(match[1], values, above, below, rank, time_s))
        return _Rows(records.only(kept), found, self._taker)


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


def _bar_below(data: bytes, end: int) -> Bar | None:
    """The bar that is redrawn under a record."""
    match = _BELOW.match(data, end)
    if match is None:
        blank = len(data) - end <= 64 and _BLANK_BELOW.match(data, end)
        return None if blank else _UNSURE
    return (int(match[1]), int(match[2])) if match[1] is not None else None
