"""The frequent metric lines of a large log, read without the machinery for single lines.

A ``BulkForm`` belongs to a grammar and knows one strict form of its lines: from the first byte of the record to
the last, nothing may be unknown. What matches is kept as a *row* and handed to the grammar later, in the order
of the log; what does not goes the usual way, line by line. Both ways give the same result: a form may only be
strict enough, never clever.

A record becomes a row only if no pattern and no grammar that is asked earlier could want it. So literals are
searched in two passes: first all but the few that stand in nearly every row (``swallows``), in the whole block;
then those few, in what the rows leave over.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np

from analyzer.ingest.text.scan import LiteralScanner, Prefilter, fast_prefilter
from analyzer.model.tables import NULL_INT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from analyzer.ingest.text.events.patterns import Pattern
    from analyzer.ingest.text.log_line import LineGrammar, LogState
    from analyzer.ingest.text.text_layer import Block

MIN_TOGETHER = 24
"""Rows from which on arrays pay; between two lines of the usual kind often stand only a few."""

MAX_ROW_BYTES = 4_000
"""Longer records are read line by line, where their parts are bounded one by one."""


class CurvePart(NamedTuple):
    """Points of one metric; all arrays have shape (n_points,).

    Attributes:
        name: As logged.
        rank: Global rank.
        begins: int64, where the record of each point begins in the block.
        steps: int64.
        values: float64.
        numbers: int64, line numbers.
        times_s: float64, NaN where unknown.
    """

    name: str
    rank: int | None
    begins: npt.NDArray[np.int64]
    steps: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    numbers: npt.NDArray[np.int64]
    times_s: npt.NDArray[np.float64]


class Batch:
    """The records of one block that a form has matched, in order.

    Attributes:
        starts: int64, shape (n_records,): where each begins.
        ends: int64: where each ends.
        lines: int64: index of the physical line of each.
        steps: int64: the step that each states, ``NULL_INT`` if none.
        totals: int64: the steps that each says the run intends; None if such records do not change that.
    """

    totals: npt.NDArray[np.int64] | None = None

    def __init__(self, records: Records) -> None:
        self.starts, self.ends, self.lines = records.starts, records.ends, records.lines
        self.steps: npt.NDArray[np.int64] = np.full(self.starts.size, NULL_INT, np.int64)

    def take(self, index: int, block: Block, log: LogState) -> None:
        """Do what the grammar does with one such line.

        Args:
            index: Which record of the batch.
            block: Gives number and time of a line.
            log: The state of the log.
        """
        raise NotImplementedError

    def ready(self, low: int, high: int, log: LogState) -> bool:  # noqa: ARG002
        """Whether ``take_all`` may take these records: all usual, and no curve begins with them."""
        return False

    def take_all(
        self, low: int, high: int, numbers: npt.NDArray[np.int64], log: LogState
    ) -> Iterable[CurvePart]:
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


class BulkForm(Protocol):
    """One strict form of a grammar's lines.

    Attributes:
        anchor: Stands in every such record, and rarely in others.
        swallows: Literals that may stand in such a record and mean nothing more there.
        passed_by: Names of earlier grammars that want one of ``swallows`` but never such a record.
    """

    anchor: bytes
    swallows: tuple[str, ...]
    passed_by: tuple[str, ...]

    def match(self, block: Block, records: Records) -> Batch:
        """Those of some records that are wholly of this form.

        Args:
            block: The block.
            records: Records in which the anchor stands, and nothing that somebody else wants.
        """


class Records(NamedTuple):
    """Columns of some records of a block, in order.

    Attributes:
        starts: int64, shape (n_records,): where each begins.
        ends: int64: where each ends.
        positions: int64: where its anchor stands.
        lines: int64: index of its physical line.
    """

    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    positions: npt.NDArray[np.int64]
    lines: npt.NDArray[np.int64]

    def only(self, kept: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Records:
        """Some of them."""
        return Records(*(column[kept] for column in self))

    def rows(self, data: bytes) -> list[bytes]:
        """Their text."""
        return [data[start:end] for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True)]


@runtime_checkable
class BulkGrammar(Protocol):
    """A grammar that has bulk forms."""

    def bulk_forms(self) -> tuple[BulkForm, ...]:
        """Its forms."""


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
                (batch.totals is None or bool((batch.totals[first:] == log.total_steps).all()))
                and batch.ready(first, batch.starts.size, log)
                for batch, first in spans
                if first < batch.starts.size
            )
        return self._steady and bool(log.total_steps)

    def step_before(self, position: int, log: LogState) -> int | None:
        """The step that the log has reached at a position, if rows can wait."""
        low, high = np.searchsorted(self._stated, (self.taken, bisect_left(self.starts, position))).tolist()
        return int(self._told[self._stated[high - 1]]) if high > low else log.step

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
            numbers = batch.lines[first:last] + block.first_line
            for curve in batch.take_all(first, last, numbers, log):
                curves.setdefault((curve.name, curve.rank), []).append(curve)
        for found in curves.values():
            _write(found, log)
        if stated:
            log.saw_step(max(stated)[1])
        return True


def _joined(columns: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
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


@dataclass(frozen=True, slots=True)
class BulkPlan:
    """Which forms are in use, and which literals are searched when.

    Attributes:
        forms: Indices of (grammar, form) that are in use.
        swallowed: Literals of the second pass.
        first: Literals of the first pass.
    """

    forms: tuple[tuple[int, int], ...]
    swallowed: tuple[bytes, ...]
    first: tuple[bytes, ...]


def make_plan(
    literals: Sequence[bytes], patterns: Sequence[Pattern], grammars: Sequence[LineGrammar]
) -> BulkPlan:
    """Decide which bulk forms are safe beside some patterns and grammars.

    Args:
        literals: All literals of patterns and grammars.
        patterns: Rows of failure and status lines.
        grammars: In the order in which they are asked.
    """
    of_patterns = {literal for pattern in patterns for literal in pattern.literals}
    forms: list[tuple[int, int]] = []
    swallowed: dict[str, None] = {}
    anchors: list[bytes] = []
    for place, grammar in enumerate(grammars):
        if not isinstance(grammar, BulkGrammar):
            continue
        for index, form in enumerate(grammar.bulk_forms()):
            wanted = {
                literal
                for earlier in grammars[:place]
                if type(earlier).__name__ not in form.passed_by
                for literal in earlier.literals
            }
            if of_patterns.isdisjoint(form.swallows) and wanted.isdisjoint(form.swallows):
                forms.append((place, index))
                anchors.append(form.anchor)
                swallowed.update(dict.fromkeys(form.swallows))
    known = set(literals)
    second = tuple(text.encode() for text in swallowed if text.encode() in known)
    rest = [literal for literal in literals if literal not in set(second)]
    return BulkPlan(
        tuple(forms), second, (*anchors, *(literal for literal in rest if literal not in anchors))
    )


class BulkReader:
    """Finds the rows and the remaining hits of each block of one log.

    Args:
        plan: From ``make_plan``.
        literals: All literals; hits are given as indices into it.
        grammars: The grammars of this log.
        sample: Some bytes of the log, for the engine that adapts to it.
    """

    def __init__(
        self, plan: BulkPlan, literals: Sequence[bytes], grammars: Sequence[LineGrammar], sample: bytes
    ) -> None:
        by_grammar = [
            grammar.bulk_forms() if isinstance(grammar, BulkGrammar) else () for grammar in grammars
        ]
        self._forms = [by_grammar[place][index] for place, index in plan.forms]
        index_of = {literal: index for index, literal in enumerate(literals)}
        self._first = _prefilter(plan.first, sample)
        self._second = _prefilter(plan.swallowed, sample)
        self._first_index = [index_of.get(literal, -1) for literal in plan.first]
        self._second_index = [index_of[literal] for literal in plan.swallowed]

    def scan(self, block: Block) -> tuple[list[tuple[int, int]], Rows]:
        """Hits outside of rows as (position, index of the literal), and the rows; both in order of position."""
        data = block.data
        found = self._first.find(data)
        positions, indices = (
            np.fromiter(chain.from_iterable(found), np.int64, 2 * len(found)).reshape(-1, 2).T
        )
        is_hit = indices >= len(self._forms)
        hits = [
            (position, self._first_index[index])
            for position, index in zip(positions[is_hit].tolist(), indices[is_hit].tolist(), strict=True)
        ]
        rows = Rows(())
        if len(hits) < len(found):
            rows = self._rows(block, positions[~is_hit], indices[~is_hit], positions[is_hit])
        left = self._left_over(data, rows)
        if left:
            hits.extend(left)
            hits.sort()
        return hits, rows

    def _rows(
        self,
        block: Block,
        positions: npt.NDArray[np.int64],
        which: npt.NDArray[np.int64],
        wanted: npt.NDArray[np.int64],
    ) -> Rows:
        """The rows at the anchors of forms, unless somebody else wants their records."""
        places = np.searchsorted(block.breaks, positions)
        edges = np.concatenate(([-1], block.breaks, [len(block.data)]))
        starts, ends = edges[places] + 1, edges[places + 1]
        alone = ends - starts <= MAX_ROW_BYTES
        alone[1:] &= places[1:] != places[:-1]
        alone[:-1] &= places[1:] != places[:-1]
        alone &= np.searchsorted(wanted, starts) == np.searchsorted(wanted, ends)
        records = Records(starts, ends, positions, np.searchsorted(block.newlines, starts))
        batches: list[Batch] = []
        for index, form in enumerate(self._forms):
            chosen = np.flatnonzero(alone & (which == index))
            if chosen.size:
                batches.append(form.match(block, records.only(chosen)))
        return Rows([batch for batch in batches if batch.starts.size])

    def _left_over(self, data: bytes, rows: Rows) -> list[tuple[int, int]]:
        """Hits of the second pass in what the rows leave over."""
        index_of = self._second_index
        if not len(rows):
            return [(position, index_of[index]) for position, index in self._second.find(data)]
        begins, ends = [0, *rows.ends], [*rows.starts, len(data)]
        pieces = [data[begin:end] for begin, end in zip(begins, ends, strict=True)]
        found = self._second.find(b"".join(pieces))
        if not found:
            return []
        # Separators stay, so nothing is found across a row that was taken out.
        starts = np.concatenate(([0], np.cumsum([len(piece) for piece in pieces])))
        places = np.searchsorted(starts, [position for position, _ in found], side="right") - 1
        shift = np.asarray(begins) - starts[:-1]
        return [
            (position + by, index_of[index])
            for (position, index), by in zip(found, shift[places].tolist(), strict=True)
        ]


def _prefilter(literals: tuple[bytes, ...], sample: bytes) -> Prefilter:
    return fast_prefilter(literals) or LiteralScanner(literals, sample)
