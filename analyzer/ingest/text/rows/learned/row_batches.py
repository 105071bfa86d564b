"""Rows of a block that were read together, kept until it is their turn in the order of the log.

Lines between them are read one by one. What is done with a row is the same in both ways.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from analyzer.ingest.text.log_line import LogState
from analyzer.ingest.text.rows.learned.whole_rows import BREAK
from analyzer.ingest.text.text_layer import Block
from analyzer.model.arrays import Integers, Mask, Values
from analyzer.model.tables import NULL_INT
from analyzer.record import NamedTuple

MIN_TOGETHER = 24
"""Rows from which on arrays pay; between two lines of the usual kind often stand only a few."""


class CurvePart(NamedTuple):
    """Points of one metric; all arrays have shape (n_points,)."""

    name: str  # as logged
    rank: int | None  # global rank
    begins: Integers  # int64, where the record of each point begins in the block
    steps: Integers  # int64
    values: Values  # float64
    numbers: Integers  # int64, line numbers
    times_s: Values  # float64, NaN where unknown


class Batch:
    """Records of one block that are read alike, in order.

    Attributes:
        starts: int64, shape (n_records,): where each begins.
        ends: int64: where each ends.
        lines: int64: index of the physical line of each.
        steps: int64: the step that each states, ``NULL_INT`` if none.
        follows: Whether each stands at the step that was stated last above it.
    """

    follows = False

    def __init__(self, records: Records) -> None:
        self.starts, self.ends, self.lines = records.starts, records.ends, records.lines
        self.steps: Integers = np.full(self.starts.size, NULL_INT, np.int64)

    def take(self, index: int, block: Block, log: LogState) -> None:
        """Do what the grammar does with one such line.

        Args:
            index: Which record of the batch.
            block: Gives number and time of a line.
            log: The state of the log.
        """
        raise NotImplementedError

    def ready(self, low: int, high: int, log: LogState) -> bool:
        """Whether ``take_all`` may take these records: all usual, and no curve begins with them."""
        raise NotImplementedError

    def take_all(self, low: int, high: int, numbers: Integers, log: LogState) -> Iterable[CurvePart]:
        """Do what ``take`` does one by one, but for ``log.step`` and for writing the points.

        Args:
            low: First record.
            high: First record not to be taken.
            numbers: int64, shape (high - low,): line numbers.
            log: The state of the log.

        Returns:
            The points to write.
        """
        raise NotImplementedError


class Records(NamedTuple):
    """Columns of some records of a block, in order."""

    starts: Integers  # int64, shape (n_records,): where each begins
    ends: Integers  # int64: where each ends
    lines: Integers  # int64: index of its physical line

    @staticmethod
    def joined(parts: Iterable[Records]) -> Records:
        """Those of several parts, one part behind the other."""
        return Records(*map(np.concatenate, zip(*parts, strict=True)))

    def only(self, kept: Integers | Mask) -> Records:
        """Some of them."""
        return Records(*(column[kept] for column in self))

    def text(self, data: bytes, lines: int = 1) -> bytes:
        """Their text, a line each, however many lines they have."""
        if lines > 1:
            whole = [
                data[start:end] for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True)
            ]
            return b"\n".join(record.replace(b"\n", BREAK.encode()) for record in whole)
        starts, ends = _runs(self.starts, self.ends)
        pieces = [data[start:end] for start, end in zip(starts, ends, strict=True)]
        return b"\n".join(pieces).replace(b"\r", b"\n")


def distinct(places: Integers) -> Integers:
    """Sorted places, each once."""
    return places[np.diff(places, prepend=-1) > 0]


def _runs(starts: Integers, ends: Integers) -> tuple[list[int], list[int]]:
    """Where sorted records begin and end; those between which only a separator stands are one."""
    apart = starts[1:] > ends[:-1] + 1
    return starts[np.append(starts[:1] >= 0, apart)].tolist(), ends[np.append(apart, ends[:1] >= 0)].tolist()


class Alike(NamedTuple):
    """Rows of a block that print the same names."""

    names: tuple[str, ...]  # what they print
    records: Records  # where they stand
    values: Values  # float64, shape (n_rows, n_names)
    rank: int | None  # global rank that their prefix names
    times_s: Values  # float64, shape (n_rows,): NaN where unknown


@runtime_checkable
class Keeper(Protocol):
    """A grammar that keeps its rows until all are known, and takes those of a block together."""

    def batch(self, parts: Sequence[Alike], block: Block) -> Batch:
        """Rows of a block that print different names, as one batch in their order."""


class Rows:
    """All rows of a block in order, taken one by one or many at once.

    Attributes:
        batches: What they were matched as.
        starts: Where each begins.
        ends: Where each ends.
        taken: Number of rows that are done with.
    """

    def __init__(self, batches: Sequence[Batch]) -> None:
        self.batches = self._batches = batches
        sizes = [batch.starts.size for batch in batches]
        begins = _joined([batch.starts for batch in batches])
        order = np.argsort(begins, kind="stable")
        self.starts: list[int] = begins[order].tolist()
        self.ends: list[int] = _joined([batch.ends for batch in batches])[order].tolist()
        self._owners = np.repeat(np.arange(len(batches)), sizes)[order]
        self._within = _joined([np.arange(size) for size in sizes])[order]
        self.taken = 0
        self._told = _joined([batch.steps for batch in batches])[order]
        self._stated = np.flatnonzero(self._told != NULL_INT)
        self._steady: bool | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def can_wait(self, block: Block, log: LogState) -> bool:
        """Whether the rows that are left may be taken after lines that change nothing but the list of events."""
        if self._steady is None:
            left = self.starts[self.taken :]
            spans = (
                [(batch, int(batch.starts.searchsorted(left[0]))) for batch in self._batches] if left else []
            )
            self._steady = block.numbers is None and all(
                batch.ready(first, batch.starts.size, log)
                for batch, first in spans
                if first < batch.starts.size
            )
        return self._steady and bool(log.total_steps)

    def step_before(self, position: int, log: LogState) -> int | None:
        """The step that the log has reached at a position, if rows can wait."""
        low, high = np.searchsorted(self._stated, (self.taken, bisect_left(self.starts, position))).tolist()
        return int(self._told[self._stated[high - 1]]) if high > low else log.step

    def _steps_above(self, positions: Integers, log: LogState) -> Integers:
        """int64: the step that the log has reached at some positions, if all rows before them are taken in order."""
        reached = NULL_INT if log.step is None else log.step
        stated = self._stated[self._stated >= self.taken]
        above = np.searchsorted(stated, np.searchsorted(self.starts, positions))
        steps: Integers = np.concatenate(([reached], self._told[stated]))[above]
        return steps

    def take_before(self, position: int, block: Block, log: LogState) -> None:
        """Take all rows that begin before a position and are not yet taken."""
        self._steady = None
        end = bisect_left(self.starts, position, self.taken)
        many = end - self.taken >= MIN_TOGETHER and block.numbers is None
        if not (many and self._take_together(end, block, log)):
            owners, within = self._owners[self.taken : end].tolist(), self._within[self.taken : end].tolist()
            for owner, index in zip(owners, within, strict=True):
                self._batches[owner].take(index, block, log)
        self.taken = end

    def _take_together(self, end: int, block: Block, log: LogState) -> bool:
        low = self.starts[self.taken]
        high = self.starts[end - 1] + 1
        parts: list[tuple[Batch, int, int]] = []
        for batch in self._batches:
            first, last = batch.starts.searchsorted((low, high)).tolist()
            if first < last:
                if not batch.ready(first, last, log):
                    return False
                parts.append((batch, first, last))
        stated = [
            (int(batch.starts[i]), int(batch.steps[i]))
            for batch, first, last in parts
            if (i := _last_stated(batch, first, last)) is not None
        ]
        curves: dict[tuple[str, int | None], list[CurvePart]] = {}
        for batch, first, last in parts:
            if batch.follows:
                batch.steps[first:last] = self._steps_above(batch.starts[first:last], log)
            numbers = batch.lines[first:last] + block.first_line
            for curve in batch.take_all(first, last, numbers, log):
                curves.setdefault((curve.name, curve.rank), []).append(curve)
        for found in curves.values():
            _write(found, log)
        if stated:
            log.saw_step(max(stated)[1])
        return True


def _joined(columns: list[Integers]) -> Integers:
    return np.concatenate(columns) if columns else np.zeros(0, np.int64)


def _write(parts: list[CurvePart], log: LogState) -> None:
    """Write the points of one curve; several programs in one log may print the same metric."""
    points = log.points(parts[0].name, parts[0].rank)
    if len(parts) == 1:
        points.extend(parts[0].steps, parts[0].values, parts[0].numbers, parts[0].times_s)
        return
    order = np.argsort(np.concatenate([part.begins for part in parts]), kind="stable")
    points.extend(
        np.concatenate([part.steps for part in parts])[order],
        np.concatenate([part.values for part in parts])[order],
        np.concatenate([part.numbers for part in parts])[order],
        np.concatenate([part.times_s for part in parts])[order],
    )


def _last_stated(batch: Batch, first: int, last: int) -> int | None:
    stated = np.flatnonzero(batch.steps[first:last] != NULL_INT)
    return first + int(stated[-1]) if stated.size else None


class Rest:
    """What rows leave over of some text, as one piece, and where it stood.

    Args:
        data: The text.
        batches: The rows; their records do not overlap.

    Attributes:
        data: The text without the rows; separators stay, so that nothing is found across a row.
    """

    def __init__(self, data: bytes, batches: Sequence[Batch]) -> None:
        starts = np.concatenate([batch.starts for batch in batches])
        order = np.argsort(starts)
        first, last = _runs(starts[order], np.concatenate([batch.ends for batch in batches])[order])
        begins, ends = [0, *last], [*first, len(data)]
        pieces = [data[begin:end] for begin, end in zip(begins, ends, strict=True)]
        self.data = b"".join(pieces)
        self._begins = np.array(begins)
        self._places = np.concatenate(([0], np.cumsum([len(piece) for piece in pieces])))[:-1]

    def placed(self, hits: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Hits in the rest as hits in the text."""
        if not hits:
            return []
        at = np.array([position for position, _ in hits])
        piece = np.searchsorted(self._places, at, side="right") - 1
        moved = at - self._places[piece] + self._begins[piece]
        return list(zip(moved.tolist(), (index for _, index in hits), strict=True))
