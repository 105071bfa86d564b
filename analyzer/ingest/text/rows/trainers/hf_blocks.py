"""Many rows of a Hugging Face console at once: which bars stand around them, and how they join the others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from analyzer.ingest.text.log_line import CONTEXT_BYTES
from analyzer.ingest.text.rows.learned.row_batches import Batch, Records, distinct
from analyzer.ingest.text.rows.learned.whole_rows import WholeRows
from analyzer.ingest.text.rows.trainers.hf_rows import NO_BAR, Row, RowBatch
from analyzer.model.arrays import Integers
from analyzer.model.tables import NULL_INT

if TYPE_CHECKING:
    from analyzer.ingest.text.log_line import LogState
    from analyzer.ingest.text.rows.learned.row_batches import Alike, CurvePart
    from analyzer.ingest.text.rows.trainers.hf_console import HfConsole
    from analyzer.ingest.text.text_layer import Block

# As ``log_line.BAR``, at the beginning of a record, and the rest of it; characters are counted, not bytes.
_BARS = WholeRows(
    rb"([ \t]{0,300}\d{1,3}%\|(?:[^|\r\n]{0,400}|(?:[^|\r\n\x80-\xbf][\x80-\xbf]{0,3}){0,400})\| {1,3}(\d{1,12})/(\d{1,12}) \[)[^\n]*"
)
_BAR_BYTES = 2_048
"""Of a record in which a bar is looked for: one of 400 wide characters has fewer."""


class HfBatch(Batch):
    """All rows of a block, in order: those that print the same names as columns, and of each row its place in there."""

    def __init__(self, parts: Sequence[Alike], block: Block, taker: HfConsole) -> None:
        parts = _by_names(parts)
        sizes = [part.records.starts.size for part in parts]
        joined = Records.joined(part.records for part in parts)
        order = np.argsort(joined.starts)
        super().__init__(joined.only(order))
        self._parts, self._taker = parts, taker
        self._kinds = np.repeat(np.arange(len(parts)), sizes)[order]
        self._within = np.concatenate([np.arange(size) for size in sizes])[order]
        self._bars = bars_around(block, self.starts, self.ends)
        reached = np.where(self._bars[:, 2] == NULL_INT, self._bars[:, 0], self._bars[:, 2])
        trains = np.array(["loss" in part.names for part in parts])[self._kinds]
        self.steps = np.where(trains, reached, NULL_INT)

    def _row(self, index: int, number: int, time_s: float | None) -> Row:
        part, within = self._parts[self._kinds[index]], self._within[index]
        bar, own_s = self._bars[index].tolist(), float(part.times_s[within])
        return Row(
            number,
            part.rank,
            time_s if math.isnan(own_s) else own_s,
            part.names,
            tuple(part.values[within].tolist()),
            None if bar[0] == NULL_INT else (bar[0], bar[1]),
            None if bar[2] == NULL_INT else (bar[2], bar[3]),
        )

    def take(self, index: int, block: Block, log: LogState) -> None:
        """See ``Batch.take``."""
        line = int(self.lines[index])
        self._taker.add(self._row(index, block.number(line), block.time_s(line)), log)

    def ready(self, low: int, high: int, log: LogState) -> bool:  # noqa: ARG002
        """See ``Batch.ready``."""
        if bool((self._kinds[low:high] != self._kinds[low]).any()):
            return False
        values = self._parts[self._kinds[low]].values[self._within[low:high]]
        if bool((values[1:] == values[:-1]).all(axis=1).any()):
            return False
        return self._taker.may_add_all(self._row(low, 0, None))

    def take_all(self, low: int, high: int, numbers: Integers, log: LogState) -> Iterable[CurvePart]:
        """See ``Batch.take_all``; points are written when the steps are known."""
        part, within = self._parts[self._kinds[low]], self._within[low:high]
        ranks = np.full(within.size, NULL_INT if part.rank is None else part.rank)
        rows = RowBatch(part.names, numbers, part.values[within], self._bars[low:high], ranks, part.times_s[within])  # fmt: skip
        self._taker.add_all(rows, self._row(high - 1, int(numbers[-1]), None), log)
        return ()


def _by_names(parts: Sequence[Alike]) -> list[Alike]:
    """Rows of one rank that print the same names, whether glued to a bar or not, as one part each."""
    groups: dict[tuple[tuple[str, ...], int | None], list[Alike]] = {}
    for part in parts:
        groups.setdefault((part.names, part.rank), []).append(part)
    return [
        found[0]._replace(
            records=Records.joined(part.records for part in found),
            values=np.concatenate([part.values for part in found]),
            times_s=np.concatenate([part.times_s for part in found]),
        )
        for found in groups.values()
    ]


def bars_around(block: Block, starts: Integers, ends: Integers) -> Integers:
    """int64, shape (n_records, 4): steps done and intended by the last bar before the end of each record, and by the one below.

    As the reader of single lines sees them: within some text around the record, and nothing but blank above the bar below.
    """
    data, text = block.data, block.text
    signs = np.flatnonzero(text[:-1] == ord("%"))
    signs = signs[text[signs + 1] == ord("|")]
    if not signs.size:
        return np.full((starts.size, 4), NULL_INT)
    edges = np.concatenate(([-1], block.breaks, [len(data)]))
    places = distinct(np.searchsorted(block.breaks, signs))
    begins = edges[places] + 1
    bars = Records(begins, np.minimum(edges[places + 1], begins + _BAR_BYTES), places)
    kept, (shown_as, *counts) = _BARS.match(bars.text(data), begins.size)
    begins = begins[kept]
    stops = begins + np.fromiter(map(len, shown_as), np.int64)
    columns = [np.fromiter(map(int, count), np.int64, len(count)) for count in counts]
    shown = np.vstack([NO_BAR, np.column_stack(columns)])
    above = np.searchsorted(begins, starts, side="right")
    near = np.concatenate(([0], begins))[above] > starts - CONTEXT_BYTES
    above[~near & (starts > CONTEXT_BYTES)] = 0
    below = np.searchsorted(begins, ends)
    below[np.append(stops, len(data) + CONTEXT_BYTES + 1)[below] > ends + CONTEXT_BYTES] = -1
    for place in np.flatnonzero((below >= 0) & (np.append(begins, -1)[below] > ends + 1)).tolist():
        if not data[int(ends[place]) : int(begins[below[place]])].isspace():
            below[place] = -1
    return np.column_stack([shown[above], shown[below + 1]])
