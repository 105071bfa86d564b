"""Many rows of a Hugging Face console at once: which bars stand around them, and how they join the others."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np

from analyzer.ingest.text.log_line import CONTEXT_BYTES
from analyzer.ingest.text.rows.learned.row_batches import Batch, Records
from analyzer.ingest.text.rows.trainers.hf_rows import NO_BAR, Row, RowBatch
from analyzer.model.tables import NULL_INT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from analyzer.ingest.text.log_line import LogState
    from analyzer.ingest.text.rows.learned.row_batches import Alike, CurvePart
    from analyzer.ingest.text.rows.trainers.hf_console import HfConsole
    from analyzer.ingest.text.text_layer import Block

# As ``log_line.BAR``, at the beginning of a record; characters are counted, not bytes.
_BAR = re.compile(
    rb"[ \t]{0,300}\d{1,3}%\|(?:[^|\r\n\x80-\xbf][\x80-\xbf]{0,3}){0,400}\| {1,3}(\d{1,12})/(\d{1,12}) \["
)


class HfBatch(Batch):
    """All rows of a block, in order: those that print the same names as columns, and of each row its place in there."""

    def __init__(self, parts: Sequence[Alike], block: Block, taker: HfConsole) -> None:
        sizes = [part.records.starts.size for part in parts]
        columns = zip(*(part.records for part in parts), strict=True)
        joined = Records(*(np.concatenate(column) for column in columns))
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
        return self._taker.may_add_all(self._row(low, 0, None), high - low)

    def take_all(
        self, low: int, high: int, numbers: npt.NDArray[np.int64], log: LogState
    ) -> Iterable[CurvePart]:
        """See ``Batch.take_all``; points are written when the steps are known."""
        part, within = self._parts[self._kinds[low]], self._within[low:high]
        ranks = np.full(within.size, NULL_INT if part.rank is None else part.rank)
        rows = RowBatch(part.names, numbers, part.values[within], self._bars[low:high], ranks, part.times_s[within])  # fmt: skip
        self._taker.add_all(rows, self._row(high - 1, int(numbers[-1]), None), log)
        return ()


def bars_around(
    block: Block, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """int64, shape (n_records, 4): steps done and intended by the last bar before the end of each record, and by the one below.

    As the reader of single lines sees them: within some text around the record, and nothing but blank above the bar below.
    """
    data = block.data
    signs = np.array([match.start() for match in re.finditer(rb"%\|", data)], np.int64)
    edges = np.concatenate(([-1], block.breaks))
    records = edges[np.unique(np.searchsorted(block.breaks, signs))] + 1
    found = [match for begin in records.tolist() if (match := _BAR.match(data, begin))]
    begins = np.array([match.start() for match in found], np.int64)
    shown = np.array([[*NO_BAR], *([int(bar[1]), int(bar[2])] for bar in found)], np.int64)
    above = np.searchsorted(begins, starts, side="right")
    near = np.concatenate(([0], begins))[above] > starts - CONTEXT_BYTES
    above[~near & (starts > CONTEXT_BYTES)] = 0
    below = np.searchsorted(begins, ends)
    for place in np.flatnonzero(below < begins.size).tolist():
        end, bar = int(ends[place]), found[below[place]]
        if bar.end() > end + CONTEXT_BYTES or not data[end : bar.start()].isspace():
            below[place] = -1
    below[below == begins.size] = -1
    return np.column_stack([shown[above], shown[below + 1]])
