"""The strict bulk form of Megatron's iteration lines; see ``megatron_lines`` for what they look like.

Which fields a version prints is learned from a line; further lines are matched by the expression made of them.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from analyzer.ingest.text.prefixes import peel
from analyzer.ingest.text.rows.bulk.bulk_lines import Batch, CurvePart, Records
from analyzer.ingest.text.rows.bulk.learned_shapes import (
    NUMBER,
    PLAIN_BAR,
    Kinds,
    LazyBytesRegex,
    LearnedShapes,
    floats,
    unix_s,
)
from analyzer.model.tables import NULL_INT

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from analyzer.ingest.text.log_line import LogState
    from analyzer.ingest.text.text_layer import Block

# A bar, the date and time in front of every line, or both; a bar hides the prefix behind it.
_BEFORE = rb"(?:%b(\]))?(?: ?\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\] )?" % PLAIN_BAR.removesuffix(rb"\]")
_HEAD = LazyBytesRegex(rb"iteration {1,12}\d{1,12}/ {0,12}\d{1,12} \|")
_FIELD = LazyBytesRegex(rb" ([A-Za-z][A-Za-z0-9_ ()/.-]{1,60}): {1,16}(?:" + NUMBER + rb") \|")


class Iteration(NamedTuple):
    """One line.

    Attributes:
        step: Iteration.
        total: Iterations that the run intends.
        names: Names of the fields.
        values: Their numbers.
        rank: Global rank that a prefix names.
        time_s: Unix seconds, None if unknown.
    """

    step: int
    total: int
    names: tuple[str, ...]
    values: tuple[float, ...]
    rank: int | None
    time_s: float | None


class IterationTaker(Protocol):
    """The grammar that takes iterations."""

    def write(self, row: Iteration, number: int, log: LogState) -> None:
        """Take one."""

    def may_write_all(self, rows: Iterations, log: LogState) -> bool:
        """Whether ``write_all`` may be called."""

    def write_all(self, rows: Iterations, log: LogState) -> Iterable[CurvePart]:
        """Take many; the points are for the caller to write."""


class Iterations(NamedTuple):
    """Many lines that print the same fields on one rank.

    Attributes:
        begins: int64, where each begins in the block.
        steps: int64, shape (n_lines,).
        total: Iterations that the run intends, as the last line says.
        names: Names of the fields.
        values: float64, shape (n_lines, n_fields).
        rank: Global rank.
        numbers: int64, shape (n_lines,): line numbers.
        times_s: float64, shape (n_lines,): NaN where unknown.
    """

    begins: npt.NDArray[np.int64]
    steps: npt.NDArray[np.int64]
    total: int
    names: tuple[str, ...]
    values: npt.NDArray[np.float64]
    rank: int | None
    numbers: npt.NDArray[np.int64]
    times_s: npt.NDArray[np.float64]


class _Part(NamedTuple):
    """Lines that print the same fields.

    Attributes:
        names: Names of the fields.
        places: int64, shape (n_lines,): which records they are.
        steps: int64, shape (n_lines, 2): step and total.
        values: float64, shape (n_lines, n_fields).
        ranks: int64, shape (n_lines,): ``NULL_INT`` where unknown.
        times_s: float64, shape (n_lines,): NaN where unknown.
    """

    names: tuple[str, ...]
    places: npt.NDArray[np.int64]
    steps: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    ranks: npt.NDArray[np.int64]
    times_s: npt.NDArray[np.float64]


class _Lines(Batch):
    """Lines of one block: those with the same fields as columns, and of each its fields and place in there."""

    def __init__(self, records: Records, parts: list[_Part], taker: IterationTaker) -> None:
        super().__init__(records)
        self._taker = taker
        self._parts = parts
        self._kinds = Kinds([part.places for part in parts])
        told = np.concatenate([part.steps for part in parts])[self._kinds.order]
        self.steps, self.totals = told[:, 0], told[:, 1]

    def take(self, index: int, block: Block, log: LogState) -> None:
        """See ``Batch.take``."""
        line = int(self.lines[index])
        kind, within = self._kinds.one(index)
        part = self._parts[kind]
        rank, time_s = int(part.ranks[within]), float(part.times_s[within])
        row = Iteration(
            int(part.steps[within, 0]),
            int(part.steps[within, 1]),
            part.names,
            tuple(part.values[within].tolist()),
            None if rank == NULL_INT else rank,
            block.time_s(line) if math.isnan(time_s) else time_s,
        )
        self._taker.write(row, block.number(line), log)

    def _all(self, low: int, high: int, numbers: npt.NDArray[np.int64]) -> Iterations | None:
        """Some lines, if they print the same fields on one rank."""
        together = self._kinds.together(low, high)
        if together is None:
            return None
        part, within = self._parts[together[0]], together[1]
        ranks = part.ranks[within]
        if not bool((ranks == ranks[0]).all()):
            return None
        return Iterations(
            self.starts[low:high],
            self.steps[low:high],
            int(part.steps[within[-1], 1]),
            part.names,
            part.values[within],
            None if ranks[0] == NULL_INT else int(ranks[0]),
            numbers,
            part.times_s[within],
        )

    def ready(self, low: int, high: int, log: LogState) -> bool:
        """See ``Batch.ready``."""
        rows = self._all(low, high, self.lines[low:high])
        return rows is not None and self._taker.may_write_all(rows, log)

    def take_all(
        self, low: int, high: int, numbers: npt.NDArray[np.int64], log: LogState
    ) -> Iterable[CurvePart]:
        """See ``Batch.take_all``."""
        rows = self._all(low, high, numbers)
        return () if rows is None else self._taker.write_all(rows, log)


class MegatronBulkForm:
    """See ``analyzer.ingest.text.rows.bulk.bulk_lines.BulkForm``.

    Args:
        taker: Takes what lines say.
    """

    anchor = b"elapsed time per iteration (ms)"
    swallows: tuple[str, ...] = ("elapsed time per iteration (ms)", "loss", "time ", "grad norm")
    passed_by: tuple[str, ...] = ("ProgressBars",)  # the bars before these lines hold no values

    def __init__(self, taker: IterationTaker) -> None:
        self._taker = taker
        self._shapes = LearnedShapes(_learn, _BEFORE)

    def match(self, block: Block, records: Records) -> Batch:
        """See ``BulkForm.match``."""
        self._single(block.data, records, 0)  # learns the first kind
        parts: list[_Part] = []
        alone = np.ones(records.starts.size, np.bool_)
        for names, places, (bars, dates), values in self._shapes.tables(records.rows(block.data)):
            behind = np.fromiter(map(bool, bars), np.bool_, len(bars))
            dated = np.fromiter(map(bool, dates), np.bool_, len(dates))
            times_s = np.full(places.size, np.nan)
            shown = np.flatnonzero(dated & ~behind)
            if shown.size:
                times_s[shown] = unix_s([dates[place] for place in shown.tolist()], _day_s)
            # What stands directly behind a bar is left to the reader of single lines.
            kept = np.flatnonzero(dated | ~behind)
            alone[places] = False
            told = values[kept, :2].astype(np.int64)
            unknown = np.full(kept.size, NULL_INT)
            parts.append(_Part(names, places[kept], told, values[kept, 2:], unknown, times_s[kept]))
        singles = (self._single(block.data, records, place) for place in np.flatnonzero(alone).tolist())
        found = [part for part in (*parts, *singles) if part is not None and part.places.size]
        if not found:
            return Batch(records.only(alone[:0]))
        all_kept = np.sort(np.concatenate([part.places for part in found]))
        return _Lines(records.only(all_kept), found, self._taker)

    def _single(self, data: bytes, records: Records, place: int) -> _Part | None:
        """A line behind something else, or the first of its kind."""
        start, end, at, _ = (int(column[place]) for column in records)
        head = data.find(b"iteration ", start, at)
        match = self._shapes.match(data, head, end) if head >= 0 else None
        said = _prefix(data[start:head]) if match is not None else None
        if match is None or said is None:
            return None
        rank, time_s = said
        step, total, *numbers = match[0].groups()
        return _Part(
            match[1],
            np.array([place]),
            np.array([[int(step), int(total)]]),
            floats(numbers).reshape(1, -1),
            np.array([NULL_INT if rank is None else rank]),
            np.array([math.nan if time_s is None else time_s]),
        )


@lru_cache(maxsize=64)
def _day_s(date: bytes) -> float | None:
    """Unix seconds of a day, as the prefixes of single lines are read."""
    return peel(f" [{date.decode()} 00:00:00] iteration      10/  100").time_s


@lru_cache(maxsize=1024)
def _prefix(prefix: bytes) -> tuple[int | None, float | None] | None:
    """Rank and time of what stands before a line; None if that may be more than a prefix."""
    if prefix[-1:] not in (b"", b" ") or b"%" in prefix or b"|" in prefix or b"{" in prefix:
        return None
    peeled = peel(prefix.decode("utf-8", "replace") + "iteration      10/  100")
    return peeled.rank, peeled.time_s


def _learn(text: bytes) -> tuple[tuple[str, ...], bytes] | None:
    """The shape of a line that is wholly made of plain numbers; one without a loss is not for here."""
    head = _HEAD.match(text)
    if head is None:
        return None
    names: list[bytes] = []
    position = head.end()
    while field := _FIELD.match(text, position):
        names.append(field[1])
        position = field.end()
    has_loss = any(is_loss(name.decode()) for name in names)
    if text[position:].strip(b" \t") or not has_loss or len(set(names)) < len(names):
        return None
    fields = b"".join(rb" %b: {1,16}(%b) \|" % (re.escape(name), NUMBER) for name in names)
    head_form = rb"iteration {1,12}(\d{1,12})/ {0,12}(\d{1,12}) \|"
    return tuple(name.decode() for name in names), head_form + fields + rb"[ \t]*"


def is_loss(name: str) -> bool:
    """Whether a field is a loss, in the spelling of any version."""
    return name.replace("-", " ").replace("_", " ").endswith("loss")
